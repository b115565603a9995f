package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestFlagsWithAChoiceAreCompleted: the shell offers the values that the help names.
func TestFlagsWithAChoiceAreCompleted(t *testing.T) {
	for line, want := range map[string]string{
		"run op.wasm --log-format":   "plain full json",
		"serve --log-format":         "plain full json",
		"run op.wasm --replicas":     "leader shared",
		"serve --replicas":           "leader shared",
		"run op.wasm --guest-output": "stdout log",
		"test --pull":                "always missing never",
		"serve --identity":           "token impersonate",
		"new op --lang":              "go rust javascript python assemblyscript c",
		"manifest op.wasm --pull":    "always missing never",
	} {
		for _, ask := range []string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd} { // with --no-descriptions
			var stdout, stderr bytes.Buffer
			run(append(append([]string{ask}, strings.Fields(line)...), ""), &stdout, &stderr)
			offered, _, _ := strings.Cut(stdout.String(), "\n:")
			if got := strings.Join(strings.Fields(offered), " "); got != want {
				t.Errorf("%s %s: got %q, want %q", ask, line, got, want)
			}
		}
	}
}

// TestDescriptionsOfFlagsInTheShell: the quotes that mark the name of a value are for the help only.
func TestDescriptionsOfFlagsInTheShell(t *testing.T) {
	var stdout, stderr bytes.Buffer
	run([]string{cobra.ShellCompRequestCmd, "run", "--allow-host"}, &stdout, &stderr)
	if got := stdout.String(); !strings.HasPrefix(got, "--allow-host\tlet the operator reach this HOST: ") {
		t.Errorf("got %q", got)
	}
}
