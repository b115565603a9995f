package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The figures of the engine, for `make bench-engine`: each is the median of rounds in
// which all variants alternate, next to its goal. No test asserts them.

// guestsFolder is where `make guests` builds the guests.
const guestsFolder = "../.cache/guests"

// figure is a line of the table.
type figure struct {
	name string
	unit string
	goal float64 // at most; 0: there is none
	runs []float64
}

// figures are the lines, in the order of their first appearance.
type figures struct {
	lines []*figure
	index map[string]*figure
}

// add notes the value of one round.
func (f *figures) add(name, unit string, goal, value float64) {
	line := f.index[name]
	if line == nil {
		line = &figure{name: name, unit: unit, goal: goal}
		if f.index == nil {
			f.index = map[string]*figure{}
		}
		f.index[name] = line
		f.lines = append(f.lines, line)
	}
	line.runs = append(line.runs, value)
}

// String is the table.
func (f *figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-58s %10s %-7s %8s %-6s  %s\n", "", "median", "", "goal", "", "rounds")
	for _, line := range f.lines {
		goal, verdict := "", ""
		if middle := median(line.runs); line.goal > 0 {
			goal, verdict = number(line.goal), "met"
			if middle > line.goal {
				verdict = "MISSED"
			}
		}
		var all []string
		for _, run := range line.runs {
			all = append(all, number(run))
		}
		fmt.Fprintf(&b, "%-58s %10s %-7s %8s %-6s  %s\n", line.name, number(median(line.runs)), line.unit, goal, verdict, strings.Join(all, " "))
	}
	return b.String()
}

// number writes three digits or more.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }

// quantile is the value that so many of the values do not exceed.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// benchGuest is a guest of the figures, in a language.
func benchGuest(t *testing.T, language string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(guestsFolder, "bench-"+language+".wasm"))
	if err != nil {
		t.Skipf("SKIPPED: %v: `make guests` builds it, or says what is missing", err)
	}
	return wasm
}

func TestTableOfFigures(t *testing.T) {
	f := &figures{}
	for _, value := range []float64{3, 1, 2} {
		f.add("met", "ms", 2, value)
		f.add("missed", "", 1.5, value)
		f.add("no goal", "", 0, 100*value)
	}
	var got []string
	for _, line := range strings.Split(f.String(), "\n")[1:4] {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"met 2.00 ms 2.00 met 3.00 1.00 2.00", "missed 2.00 1.50 MISSED 3.00 1.00 2.00", "no goal 200 300 100 200"}
	if !slices.Equal(got, want) {
		t.Errorf("table %q, want %q", got, want)
	}
}
