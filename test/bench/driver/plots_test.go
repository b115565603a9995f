package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlots: a plot per measured scenario has the operators, the medians, and a dot per round.
func TestPlots(t *testing.T) {
	of := func(operator string, sc scenario, round int, seconds float64) result {
		return result{Operator: operator, Scenario: sc, Round: round, Objects: 1, Figures: map[figure]float64{handled: seconds, handledCPU: seconds, peakRSS: 1}}
	}
	results := []result{of("a<b", coldStart, 0, 0.5), of("other", coldStart, 0, 0.25), of("a<b", coldStart, 1, 0.7), of("other", coldStart, 1, 0)}
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{Folder: t.TempDir(), Log: io.Discard}
	if err := o.plot(source); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(o.Folder, "plots", "cold-start.svg"))
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, string(svg))
	for part, count := range map[string]int{">a&lt;b<": 3, ">other<": 3, ">0.600<": 2, ">0.125<": 2, "<circle": 12, ">handled s<": 1} {
		if got := strings.Count(string(svg), part); got != count {
			t.Errorf("%s occurs %d times, want %d, in\n%s", part, got, count, svg)
		}
	}
}

// TestScalingPlot: the output of the benchmark of events becomes curves.
func TestScalingPlot(t *testing.T) {
	plots := plotScaling(`cpu: AMD EPYC
BenchmarkEvent/objects=10-2         	    2000	    112309 ns/op	   14762 B/op	     186 allocs/op
BenchmarkEvent/objects=1000         	    2000	     77827 ns/op	   14865 B/op	     186 allocs/op
BenchmarkEvent/handlers=10-2        	    2000	    119016 ns/op	   14816 B/op	     187 allocs/op
BenchmarkOther/objects=10-2         	    2000	    112309 ns/op	   1 B/op	     1 allocs/op
`)
	if names := slices.Collect(maps.Keys(plots)); !slices.Equal(names, []string{"scaling"}) {
		t.Fatalf("plots %q", names)
	}
	svg := plots["scaling"]
	wellFormed(t, svg)
	for _, part := range []string{">objects<", ">handlers<", ">1000<", ">187<", ">14865<"} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	if plots := plotScaling("PASS"); plots != nil {
		t.Errorf("plots of nothing: %v", plots)
	}
}

// TestPlotRefusesOtherFiles: a file without results is an error that names it.
func TestPlotRefusesOtherFiles(t *testing.T) {
	for name, text := range map[string]string{"results.json": "[]", "broken.json": "{", "log.txt": "PASS\n"} {
		source := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := options{Folder: t.TempDir(), Log: io.Discard}
		if err := o.plot(source); err == nil || !strings.Contains(err.Error(), source) {
			t.Errorf("%s: %v, want an error about the file", name, err)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}
