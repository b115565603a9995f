package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// The exit codes in the order of the manual. The last one is SIGABRT for a shell.
var documented = []string{"0", "1", "2", "3", "4", "5", "6", "124", "130", "134"}

func TestExitCodesAreThoseOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| `).FindAllSubmatch(text, -1) {
		codes = append(codes, string(row[1]))
	}
	if diff := cmp.Diff(documented, codes); diff != "" {
		t.Errorf("docs/cli.md (-want +got):\n%s", diff)
	}
}

func TestEachErrorHasItsExitCode(t *testing.T) {
	around := func(err error) error { return fmt.Errorf("operator.wasm: %w", err) }
	seen := map[string]bool{"134": true}
	for _, tt := range []struct {
		err  error
		want exitCode
	}{
		{nil, 0},
		{errors.New("no such file"), 1},
		{around(usageError{errors.New("unknown flag")}), 2},
		{around(signatures.ErrUnverified), 3},
		{around(modules.ErrFile), 3},
		{around(declaration.ErrMismatch), 4},
		{around(errFailed), 5},
		{around(&toolchains.MissingError{}), 6},
		{around(operator.ErrExitTimeout), 124},
		{around(errForced), 130},
	} {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("%v: exit code %d, want %d", tt.err, got, tt.want)
		}
		seen[fmt.Sprint(tt.want)] = true
	}
	for _, code := range documented {
		if !seen[code] {
			t.Errorf("no error has the exit code %s", code)
		}
	}
}
