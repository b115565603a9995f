// Package main is a filter: it reads the events of `go test -json` from the
// standard input and prints what a person wants to see of them: one line for
// each package, the output of failed tests, each skipped test with its reason,
// and at the very end `N passed, N failed`. Tests that only hold subtests do
// not count. The exit status is 1 if anything failed, or if nothing was run.
// With CI=true, a skipped test is a failed one: CI installs what tests need.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Stdin, os.Stdout, os.Getenv("CI") == "true"))
}

func run(in io.Reader, out io.Writer, strict bool) int {
	t := newTally(out)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			t.take(line)
		}
		if err != nil {
			break
		}
	}
	if !t.seen {
		fmt.Fprintln(out, "FAIL  no test was started")
		t.failed++
	}
	if strict && t.skipped > 0 {
		fmt.Fprintf(out, "FAIL  %d skipped tests: in CI, every test must run\n", t.skipped)
		t.failed += t.skipped
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", t.passed, t.failed)
	if t.failed > 0 {
		return 1
	}
	return 0
}
