package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting"
)

// declared counts the operators of a folder.
type declared map[hosting.Key]bool

func (d declared) Declare(o hosting.Declaration) { d[o.Key] = true }
func (d declared) Remove(key hosting.Key)        { delete(d, key) }

// TestFilesThatAppearDuringALook: the next look reads them.
func TestFilesThatAppearDuringALook(t *testing.T) {
	dir, to := t.TempDir(), declared{}
	s := New(dir, zerolog.Nop())
	for i := range 200 {
		text := fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: op%d, namespace: ns}, spec: {module: 'oci://ghcr.io/me/op:v1', serviceAccountName: sa}}", i)
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.marks = "" // it reads the folder
		var looking sync.WaitGroup
		looking.Go(func() {
			if err := s.look(to); err != nil {
				t.Error(err)
			}
		})
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, fmt.Sprintf("op%d.yaml", i))); err != nil {
			t.Fatal(err)
		}
		looking.Wait()
		if err := s.look(to); err != nil {
			t.Fatal(err)
		}
		if len(to) != i+1 {
			t.Fatalf("%d of %d operators are declared", len(to), i+1)
		}
	}
}

// TestTheLogSaysWhenAFolderIsReadAgain: whoever mends a file sees that it was the only problem.
func TestTheLogSaysWhenAFolderIsReadAgain(t *testing.T) {
	dir, to := t.TempDir(), declared{}
	var log strings.Builder
	s := New(dir, zerolog.New(&log))
	for _, text := range []string{"nonsense: [", "---\n"} {
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.marks = "" // it reads the folder
			s.note(s.look(to))
		}
	}
	if strings.Count(log.String(), "cannot be read") != 1 || strings.Count(log.String(), "The folder can be read again.") != 1 {
		t.Errorf("the log has\n%s", &log)
	}
}
