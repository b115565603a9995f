package main

import (
	"bytes"
	"regexp"
	"testing"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		code   int
		output string
	}{
		{"our recordings", []string{"../../conformance/vectors"}, 0, `\n\d+ passed, 0 failed\n$`},
		{"an empty folder", []string{t.TempDir()}, 2, `^vectors: there are no vectors in `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := run(test.args, &out, &out); code != test.code {
				t.Errorf("got the code %d, want %d:\n%s", code, test.code, out.String())
			}
			if !regexp.MustCompile(test.output).Match(out.Bytes()) {
				t.Errorf("got the output:\n%s", out.String())
			}
		})
	}
}
