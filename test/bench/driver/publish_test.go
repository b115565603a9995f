package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// allMeasured are results of two rounds of all operators, those of the manual and others.
func allMeasured() []result {
	var all []result
	for i, of := range append([]publishedOperator{{"client-go", ""}}, publishedOperators...) {
		for _, sc := range []scenario{burst, update, trickle} {
			for round := range 2 {
				figures := map[figure]float64{}
				for n, f := range []figure{perSecond, cpu, peakRSS, p99, p50} {
					figures[f] = float64(100*n + 10*i + round)
				}
				all = append(all, result{Operator: of.measured, Scenario: sc, Round: round, Objects: 20, Command: "/a/path/of/this/machine", Figures: figures})
			}
		}
	}
	return all
}

// manual is a folder with a page that has a place for the section.
func manual(t *testing.T, section string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "images"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, page), []byte("# Before\n\n"+section+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPublishedResultsAreInThePage: with a plot and a table for each scenario, and again after another run.
func TestPublishedResultsAreInThePage(t *testing.T) {
	folder := manual(t, sectionBegin+"an earlier run\n"+sectionEnd)
	for range 2 {
		if err := publish(folder, allMeasured(), "2 processors", time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	text := read(t, filepath.Join(folder, page))
	for _, want := range []string{
		"# Before\n", "\nafter\n", "Medians of 2 rounds on 1970-01-01, 2 processors.", `<img src="images/benchmarks-burst.svg" width="640" alt="20 objects, created at once: `,
		`<img src="images/benchmarks-update.svg"`, "| kopf-wasm, Rust ", "| 10 ", "| 110.500 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "an earlier run") || strings.Contains(text, "client-go") || strings.Count(text, sectionBegin) != 1 {
		t.Errorf("the page has what is not published:\n%s", text)
	}
	for _, name := range []string{"burst", "update"} {
		svg := read(t, filepath.Join(folder, "images", "benchmarks-"+name+".svg"))
		wellFormed(t, svg)
		for _, operator := range publishedOperators {
			if got := strings.Count(svg, ">"+operator.shown+"<"); got != len(publishedColumns) {
				t.Errorf("%s: %s has %d bars", name, operator.shown, got)
			}
		}
		if got := strings.Count(svg, "<circle"); got != 2*len(publishedOperators)*len(publishedColumns) {
			t.Errorf("%s: %d dots", name, got)
		}
	}
	if data := read(t, filepath.Join(folder, publishedData)); strings.Contains(data, "path") || strings.Contains(data, "client-go") {
		t.Errorf("the data has more than the plots:\n%s", data)
	}
}

// TestIncompleteRunsAreNotPublished: the error names what is missing, and no file changes.
func TestIncompleteRunsAreNotPublished(t *testing.T) {
	var incomplete []result
	for _, one := range allMeasured() {
		if one.Operator != kubeRS || one.Scenario != update {
			incomplete = append(incomplete, one)
		}
	}
	for says, tt := range map[string]struct {
		section string
		results []result
	}{
		kubeRS + " was not measured in the scenario update": {sectionBegin + sectionEnd, incomplete},
		"kopf-rust was not measured":                        {sectionBegin + sectionEnd, nil},
		"benchmarks.md has no lines":                        {sectionEnd, allMeasured()},
	} {
		folder := manual(t, tt.section)
		before := read(t, filepath.Join(folder, page))
		if err := publish(folder, tt.results, "", time.Now()); !errors.Is(err, errUnpublishable) || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, want %s", err, says)
		}
		if after := read(t, filepath.Join(folder, page)); after != before {
			t.Errorf("%s: the page is changed", says)
		}
		if entries, err := os.ReadDir(filepath.Join(folder, "images")); err != nil || len(entries) > 0 {
			t.Errorf("%s: there are %v, %v", says, entries, err)
		}
	}
}

// TestResultsOfARunAreDrawnAndPublished: -plot with -publish, without a run.
func TestResultsOfARunAreDrawnAndPublished(t *testing.T) {
	text, err := json.Marshal(allMeasured())
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{Folder: t.TempDir(), Publish: manual(t, sectionBegin+sectionEnd), Log: io.Discard}
	if err := o.plot(source); err != nil {
		t.Fatal(err)
	}
	if text := read(t, filepath.Join(o.Publish, page)); !strings.Contains(text, "benchmarks-burst.svg") {
		t.Errorf("the page is\n%s", text)
	}
}

// TestPageOfTheManualIsThatOfItsData: its plots and tables are those of the committed data.
func TestPageOfTheManualIsThatOfItsData(t *testing.T) {
	const docs = "../../../docs"
	_, rest, begins := strings.Cut(read(t, filepath.Join(docs, page)), sectionBegin)
	section, _, ends := strings.Cut(rest, sectionEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the results", page)
	}
	text, err := os.ReadFile(filepath.Join(docs, publishedData))
	if errors.Is(err, os.ErrNotExist) {
		if section != "" {
			t.Errorf("the page shows results, but %s is missing", publishedData)
		}
		return
	}
	var p published
	if err := errors.Join(err, json.Unmarshal(text, &p)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.section(), section); diff != "" {
		t.Errorf("the section (-data +page):\n%s", diff)
	}
	for name, svg := range p.plots() {
		if diff := cmp.Diff(svg, read(t, filepath.Join(docs, name))); diff != "" {
			t.Errorf("%s (-data +file):\n%s", name, diff)
		}
	}
}

// TestRunsThatCannotBePublishedDoNotBegin: a run takes long.
func TestRunsThatCannotBePublishedDoNotBegin(t *testing.T) {
	var all []program
	for _, of := range publishedOperators {
		all = append(all, program{Name: of.measured})
	}
	for says, tt := range map[string]struct {
		o        options
		measured []program
	}{
		"":                                      {options{Publish: "docs", Posting: "both"}, all},
		"kube-rs is not measured":               {options{Publish: "docs", Posting: "both"}, append(all[:3:3], all[4:]...)},
		"leave out POSTING=on":                  {options{Publish: "docs", Posting: "on"}, all},
		"kopf-rust is not measured: name it in": {options{Publish: "docs", Posting: "off"}, nil},
	} {
		if err := tt.o.checkPublished(tt.measured); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, want %q", err, says)
		}
	}
	o := options{Posting: "on"}
	if err := o.checkPublished(nil); err != nil {
		t.Errorf("nothing is published: %v", err)
	}
}
