package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
)

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		limit, want string
		code        exitCode
	}{
		{"MaxMemory", `--limit "MaxMemory": want NAME=VALUE, like max-memory=64Mi`, exitUsage},
		{"MaxMemory=much", `--limit: limit MaxMemory: "much" is not a size above zero`, exitUsage},
		{"Memory=64Mi", "--limit: unknown limit Memory: did you mean MaxMemory?", exitUsage},
		{"max-memory=much", `limit MaxMemory: "much" is not a size above zero`, exitUsage},
		{"loop-rate=0", `limit LoopRate: "0" is not a whole number above zero`, exitUsage},
		{"max-memory=64Mi", "nothing.wasm", exitError},
		{"MaxMemory=64Mi", "nothing.wasm", exitError}, // the next problem
	} {
		var stderr strings.Builder
		code := run([]string{"run", "--standalone", "-n", "default", "nothing.wasm", "--limit", test.limit}, &strings.Builder{}, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("--limit %s: exit code %d, %s; want %q", test.limit, code, &stderr, test.want)
		}
	}
}

// Each limit of a rate reaches the operator.
func TestLimitsOfRates(t *testing.T) {
	for _, name := range operator.LimitNames() {
		if slices.Contains(host.LimitNames(), name) {
			continue
		}
		var lowest, given operator.Options
		if err := lowest.SetLimit(name, "1"); err != nil {
			t.Fatal(err)
		}
		o, cmd := &runOptions{modules: []string{"operator.wasm"}}, &cobra.Command{}
		o.addFlags(cmd)
		o.develop = func(_ context.Context, options operator.Options, _ zerolog.Logger) error {
			given = options
			return nil
		}
		if err := cmd.Flags().Parse([]string{"-n", "default", "--limit", name + "=1"}); err != nil {
			t.Fatal(err)
		}
		if err := o.run(t.Context(), io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := given.CheckMaxima(&lowest); err != nil {
			t.Error(err)
		}
	}
}

// Commands without a cluster have no rates, and do not ignore them.
func TestLimitsWithoutRates(t *testing.T) {
	var stderr strings.Builder
	code := run([]string{"invoke", "nothing.wasm", "fn", "--limit", "loop-rate=1"}, &strings.Builder{}, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "--limit: unknown limit loop-rate") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
