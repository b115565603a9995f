package logs

import (
	"fmt"
	"testing"
	"time"
)

// TestColumns: times and padded words are those of the standard library.
func TestColumns(t *testing.T) {
	for _, word := range []string{"", "kopf", "kopf.something.very.long", "äöü", "äääääääääääääääääääääääää", "12345678901234567890"} {
		if got, want := string(appendPadded(nil, word, 20)), fmt.Sprintf("%-20.20s", word); got != want {
			t.Errorf("%q is padded as %q, want %q", word, got, want)
		}
	}
	l := &lines{}
	for _, ns := range []int64{0, 1e6, 999_999_999, 1e9, 1e9 + 5, 0, 1_234_567_890_123_456_789} {
		at := time.Unix(0, ns)
		if got, want := string(l.appendTime(nil, at)), at.Format("2006-01-02 15:04:05,000"); got != want {
			t.Errorf("the time is %q, want %q", got, want)
		}
	}
}
