package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	many := &strings.Builder{}
	for i := range 2000 {
		fmt.Fprintf(many, "line %d\n", i)
	}
	tests := []struct{ name, text, want, not string }{
		{"empty", "", "is empty", ""},
		{"one line", "only\n", ":\n  only", ""},
		{"no newline at the end", "a\nb", "  a\n  b", ""},
		{"many", many.String(), "  line 1999", "line 1900"},
		{"one long line", strings.Repeat("x", 10*tailBytes), "xxx", strings.Repeat("x", tailBytes+1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := LastLines(path)
			if !strings.Contains(got, tt.want) || !strings.Contains(got, path) {
				t.Errorf("got %q, want it to contain %q and the path", got, tt.want)
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("got %q, want it not to contain %q", got, tt.not)
			}
		})
	}
	if got := LastLines("/nonexistent/log"); !strings.Contains(got, "cannot be read") {
		t.Errorf("missing log: got %q", got)
	}
}
