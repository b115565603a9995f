package main

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		limit, want string
		code        exitCode
	}{
		{"MaxMemory", "--limit MaxMemory: want NAME=VALUE", exitUsage},
		{"MaxMemory=much", `--limit: limit MaxMemory: "much" is not a size above zero`, exitUsage},
		{"Memory=64Mi", "--limit: unknown limit Memory: must be one of", exitUsage},
		{"max-memory=much", `limit MaxMemory: "much" is not a size above zero`, exitUsage},
		{"loop-rate=0", `limit LoopRate: "0" is not a number above zero`, exitUsage},
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
