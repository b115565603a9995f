package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`.
//
// See https://pkg.go.dev/cmd/test2json
type event struct {
	Action  string
	Package string
	Test    string // "" for the package as a whole
	Output  string
	Time    time.Time
	Elapsed float64 // seconds
}

// result is what is known of one test.
type result struct {
	name      string
	action    string // run, pass, fail, skip
	output    []string
	parent    bool // it has subtests
	badParent bool // one of them failed
}

// progressEvery is how often a line tells how many tests of the unfinished packages are done.
const progressEvery = 30 * time.Second

// tally counts the tests of packages that run at the same time.
type tally struct {
	out            io.Writer
	progressAt     time.Time            // of the last line of progress, by the clock of the events
	seen           bool                 // any event at all
	passed, failed int                  // tests, without those that only hold subtests
	skipped        int                  // likewise
	packages       map[string][]*result // of the unfinished packages, in the order of their starts
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, packages: map[string][]*result{}}
}

// take counts one line. What is not JSON comes from the go command itself.
func (t *tally) take(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintf(t.out, "%s\n", strings.TrimRight(string(line), "\n"))
		return
	}
	t.seen = true
	t.progress(e.Time)
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "output":
		r := t.result(e.Package, e.Test)
		r.output = append(r.output, e.Output)
	case "run":
		t.result(e.Package, e.Test).action = e.Action
	case "pass", "fail", "skip":
		t.result(e.Package, e.Test).action = e.Action
		if e.Test == "" {
			t.endPackage(e)
		}
	}
}

// progress prints how many tests are done in each unfinished package, now and then.
func (t *tally) progress(now time.Time) {
	if t.progressAt.IsZero() {
		t.progressAt = now
	}
	if now.Sub(t.progressAt) < progressEvery {
		return
	}
	t.progressAt = now
	for _, pkg := range slices.Sorted(maps.Keys(t.packages)) {
		done, failed := 0, 0
		for _, r := range t.packages[pkg] {
			switch {
			case r.name == "":
			case r.action == "fail":
				failed++
				done++
			case r.action != "run":
				done++
			}
		}
		if done > 0 {
			fmt.Fprintf(t.out, "...   %s: %d tests done, %d failed\n", pkg, done, failed)
		}
	}
}

// result finds or begins the result of a test. The list is searched from its
// end: events of a test follow each other closely.
func (t *tally) result(pkg, name string) *result {
	list := t.packages[pkg]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return list[i]
		}
	}
	r := &result{name: name}
	t.packages[pkg] = append(list, r)
	return r
}

// endPackage counts and shows the tests of a package. Only now it is known
// which of them have subtests: a parent may be reported before them.
func (t *tally) endPackage(e event) {
	results := t.packages[e.Package]
	delete(t.packages, e.Package)
	markParents(results)
	failed := t.failed
	for _, r := range results {
		if r.name != "" {
			t.count(e.Package, r)
		}
	}
	switch e.Action {
	case "pass":
		fmt.Fprintf(t.out, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	case "fail":
		if t.failed == failed { // it did not build, or it died outside of a test
			t.failed++
			t.show(find(results, "").output)
		}
		fmt.Fprintf(t.out, "FAIL  %s (%.1fs)\n", e.Package, e.Elapsed)
	}
}

func (t *tally) count(pkg string, r *result) {
	switch {
	case r.action == "fail" && !r.badParent, r.action == "run": // a test that only started died with its process
		fmt.Fprintf(t.out, "FAIL  %s %s\n", pkg, r.name)
		t.show(r.output)
		t.failed++
	case r.action == "skip" && strings.HasPrefix(r.name, "Fuzz") && strings.Contains(r.name, "/"):
		// An input that does not say anything is no test that is missing.
	case r.action == "skip":
		fmt.Fprintf(t.out, "SKIP  %s %s\n", pkg, r.name)
		t.show(r.output)
		t.skipped++
	case r.action == "pass" && !r.parent:
		t.passed++
	}
}

// markParents finds the tests that have subtests, and those that failed only by them.
func markParents(results []*result) {
	for _, r := range results {
		i := strings.LastIndexByte(r.name, '/')
		if i < 0 {
			continue
		}
		if parent := find(results, r.name[:i]); parent != nil {
			parent.parent = true
			parent.badParent = parent.badParent || r.action == "fail" || r.action == "run"
		}
	}
}

func find(results []*result, name string) *result {
	for _, r := range results {
		if r.name == name {
			return r
		}
	}
	return nil
}

// show prints the output of a test without the lines that only say that it runs.
func (t *tally) show(output []string) {
	for _, line := range output {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprintf(t.out, "      %s", line)
		}
	}
}
