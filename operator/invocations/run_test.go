package invocations

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module builds test/guests/go/random.
func module(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "random.wasm")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", out, "./random")
	cmd.Dir = filepath.Join("..", "..", "test", "guests", "go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func TestModulesThatBreakAreNamed(t *testing.T) {
	path := module(t)
	tests := []struct{ handler, want string }{
		{"create_fn", ""},
		{"delete_fn", ""},
		{"panic_fn", "a broken handler"},
		{"spin_fn", "more than 1s without giving back control"},
	}
	for _, tt := range tests {
		t.Run(tt.handler, func(t *testing.T) {
			p := &Program{Module: path, Timeout: time.Second}
			result, err := p.Run(t.Context(), Options{Handler: tt.handler, Object: object(t, example), Old: oldFor(t, tt.handler), Retry: 2})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.want == "" && result.Failed():
				t.Errorf("failed: %s", result.Error.Message)
			case tt.want != "" && (!result.Failed() || !strings.Contains(result.Error.Message, tt.want)):
				t.Errorf("error = %+v, want %s", result.Error, tt.want)
			}
		})
	}
}

// oldFor is the object before an update.
func oldFor(t *testing.T, handler string) map[string]any {
	t.Helper()
	if handler == "panic_fn" || handler == "spin_fn" {
		return object(t, strings.Replace(example, "value", "before", 1))
	}
	return nil
}
