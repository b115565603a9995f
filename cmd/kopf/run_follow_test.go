package main

import (
	"io"
	"strings"
	"testing"
)

// Options that contradict --follow are refused before any module is read.
func TestFollowFlag(t *testing.T) {
	const tag, digest = "oci://registry.test/op:v1", "oci://registry.test/op@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	tests := []struct {
		args  []string
		words string
	}{
		{[]string{tag, "--follow=10ms"}, "want at least 1s"},
		{[]string{tag, "--follow=0s"}, "want at least 1s"},
		{[]string{tag, "--follow=often"}, "invalid argument"},
		{[]string{tag, "--follow", "--dev"}, "cannot be used together"},
		{[]string{tag, "--follow", "--once"}, "--once exits"},
		{[]string{tag, "--follow", "--pull", "never"}, "--pull never forbids it"},
		{[]string{digest, "--follow"}, "no module is named by a tag"},
		{[]string{"operator.wasm", "--follow"}, "no module is named by a tag"},
	}
	for _, tt := range tests {
		var stderr strings.Builder
		if code := run(append([]string{"run", "-n", "default"}, tt.args...), io.Discard, &stderr); code != exitUsage || !strings.Contains(stderr.String(), tt.words) {
			t.Errorf("%q: exit code %d, want %q:\n%s", tt.args, code, tt.words, stderr.String())
		}
	}
}
