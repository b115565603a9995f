package development

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/programtest"
	"github.com/kopf-wasm/kopf/operator/toolchains"
	"github.com/kopf-wasm/kopf/test/lines"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// journal is a log that tests wait for.
type journal struct{ lines.Lines }

// says waits until the log has a text so many times.
func (j *journal) says(t *testing.T, text string, times int) {
	t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(j.String(), text) < times; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is missing:\n%s", text, j)
		}
	}
}

// compiler puts a shell script in the place of clang.
func compiler(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"clang": script, "wasm-ld": ""} {
		programtest.Write(t, filepath.Join(dir, name), text)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// session is one for a project in C.
func session(t *testing.T, source string) (s *Session, path string, log *journal) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "main.c")
	save(t, path, source)
	project, err := toolchains.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	log = &journal{}
	return &Session{Project: project, Messages: log, Log: zerolog.New(log)}, path, log
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenOperatorsWaitForAChange: neither a compile error nor a module that cannot be loaded
// ends a session.
func TestBrokenOperatorsWaitForAChange(t *testing.T) {
	compiler(t, `for source; do :; done
read -r text <"$source"
[ "$text" != wrong ] || { echo "main.c:1:1: error" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done; cat "$source" >"$2"`)
	s, path, log := session(t, "wrong\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }() // Waited for below.
	log.says(t, "main.c:1:1: error", 1)
	log.says(t, "Waiting for a change of", 1)
	save(t, path, "no module\n")
	log.says(t, "not a WebAssembly file", 1)
	log.says(t, "Waiting for a change of", 2)
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the session does not end")
	}
}

func TestMissingToolsEndASession(t *testing.T) {
	s, _, _ := session(t, "")
	t.Setenv("PATH", t.TempDir())
	if err := s.Run(t.Context()); !errors.As(err, new(*toolchains.MissingError)) {
		t.Errorf("%v", err)
	}
}
