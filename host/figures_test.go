package host

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The figures of the engine, for `make bench-engine`: each is the median of rounds in
// which all variants take turns, beside its goal. No test asserts them.

var (
	figuresWanted = flag.Bool("figures", false, "measure the engine and print a table")
	figureRounds  = flag.Int("rounds", 5, "with -figures: how often each figure is measured")
)

// guestsFolder is where `make bench-engine` builds the guests.
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

// figureGuests are the guests of the figures: what is not built is skipped.
func figureGuests(t *testing.T) map[string][]byte {
	t.Helper()
	guests := map[string][]byte{}
	for _, language := range []string{"go", "rust"} {
		wasm, err := os.ReadFile(filepath.Join(guestsFolder, "bench-"+language+".wasm"))
		if errors.Is(err, os.ErrNotExist) {
			t.Logf("SKIPPED: no guest in %s: `make bench-engine` builds it, or says what is missing", language)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		guests[language] = wasm
	}
	return guests
}

func TestFigures(t *testing.T) {
	if !*figuresWanted {
		t.Skip("make bench-engine measures them")
	}
	f := &figures{}
	guests := figureGuests(t)
	for _, lines := range []func(*testing.T, *figures, map[string][]byte){
		compileFigures, instanceFigures, callFigures, memoryFigures, coreFigures, stopFigures, scriptFigures, sliceFigures, neighbourFigures,
	} {
		lines(t, f, guests)
	}
	fmt.Printf("%s, %d processors, medians of %d rounds\n\n%s", runtime.Version(), runtime.GOMAXPROCS(0), *figureRounds, f)
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
