package webhooks

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// TestRepeatedComplaintsAreCounted: of a thousand lines a second, a few reach the log, which say how
// many there were. Other reasons have lines of their own.
func TestRepeatedComplaintsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newComplaints(zerolog.New(&log))
		for i := range 7000 {
			c.warn("bad", fmt.Sprint("bad ", i))
			if i == 0 {
				time.Sleep(time.Millisecond / 2) // so that no line comes at the end of an interval
			} else {
				time.Sleep(time.Millisecond)
			}
		}
		c.warn("worse", "worse 1")
		c.debug("worse", "worse 2")
		time.Sleep(time.Minute)
		c.warn("bad", "bad again")
		c.warn("bad", "bad twice")
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{
			`{"level":"warn","message":"bad 0"}`,
			`{"level":"warn","message":"bad 5000 (and 4999 more like this in 5s)"}`,
			`{"level":"warn","message":"worse 1"}`,
			`{"level":"warn","message":"bad 6999 (and 1998 more like this in 5s)"}`,
			`{"level":"warn","message":"worse 2"}`,
			`{"level":"warn","message":"bad again"}`,
			`{"level":"warn","message":"bad twice"}`,
		}
		if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(log.String()), "\n")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(c.more) > 0 {
			t.Errorf("%d reasons are kept", len(c.more))
		}
	})
}

func TestCutTexts(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "short": "short", strings.Repeat("x", maxQuoted): strings.Repeat("x", maxQuoted),
		strings.Repeat("x", maxQuoted+1):    strings.Repeat("x", maxQuoted) + "…",
		strings.Repeat("é", maxQuoted):      strings.Repeat("é", maxQuoted/2) + "…",
		"x" + strings.Repeat("é", 1<<20):    "x" + strings.Repeat("é", maxQuoted/2-1) + "…",
		strings.Repeat("\x80", maxQuoted*2): "…",
	} {
		if got := cut(text); got != want {
			t.Errorf("%.10q… is cut to %q, want %q", text, got, want)
		}
	}
}
