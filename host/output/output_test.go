package output

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/host/linear"
)

// written are the lines that were written, each by one write.
type written []string

func (w *written) Write(line []byte) (int, error) {
	*w = append(*w, string(line))
	return len(line), nil
}

// TestLongLinesCountUntilTheirEnd: each of thousands of instances could write one without an end, and wait. Without room, it is split.
func TestLongLinesCountUntilTheirEnd(t *testing.T) {
	var out written
	pool, limit := linear.NewPool(longLine), NewLimit(NewBucket(0), func(int64) {})
	writer := func() *Lines {
		lines := NewLines(NewStream(&out), limit, pool)
		return &lines
	}
	short, first, second := writer(), writer(), writer()
	text := strings.Repeat("x", 2*shortLine)
	for _, step := range []struct {
		to    *Lines
		text  string
		lines int
		used  int64
	}{
		{short, "a short one", 0, 0},
		{first, text, 0, longLine},
		{first, text, 0, longLine},
		{second, text, 1, longLine},
		{first, "\n", 2, 0},
		{second, text, 2, longLine},
		{second, text + "\nmore", 3, 0},
		{second, "\n", 4, 0},
		{short, text + "\n", 5, 0},
	} {
		if step.to.Write([]byte(step.text)); len(out) != step.lines || pool.Used() != step.used {
			t.Errorf("after %.20q: %d lines, %d bytes are held, want %d, %d", step.text, len(out), pool.Used(), step.lines, step.used)
		}
	}
	for i, size := range []int{2 * shortLine, 4 * shortLine, 4 * shortLine, len("more"), len("a short one") + 2*shortLine} {
		if got := len(out[i]) - 1; got != size {
			t.Errorf("line %d has %d bytes, want %d", i, got, size)
		}
	}
}

// TestOutputLimitReports: dropped lines are reported once a second, and not at all when nothing is dropped.
func TestOutputLimitReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards reported
		var reported []int64
		o := NewLimit(NewBucket(1000), func(lines int64) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, lines)
		})
		for range 10 { // one each tenth of a second, with room for less than five a second
			for range 2 {
				o.Allow(200 - LineCost)
			}
			time.Sleep(100 * time.Millisecond)
		}
		o.Allow(2000) // more than there ever is room for
		time.Sleep(time.Minute)
		o.Flush()
		if o.Allow(1000-LineCost) != true || o.Allow(1) != false {
			t.Error("a second's worth is not what can come at once")
		}
		o.Flush()
		mu.Lock()
		defer mu.Unlock()
		if want := []int64{12, 1}; !slices.Equal(reported, want) || o.Dropped() != 13 {
			t.Errorf("reported: %v, want %v; %d in all", reported, want, o.Dropped())
		}
	})
}
