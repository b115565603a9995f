package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// TestTheLogSaysWhenAFolderIsReadAgain: after the correction of a file, the log shows that there was no other problem.
func TestTheLogSaysWhenAFolderIsReadAgain(t *testing.T) {
	dir, to := t.TempDir(), declared{}
	var log strings.Builder
	s := New(dir, zerolog.New(&log))
	for _, text := range []string{"nonsense: [", "---\n"} {
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.marks, s.broken = "", "" // it reads the folder
			s.note(s.look(to))
		}
	}
	if strings.Count(log.String(), "cannot be read") != 1 || strings.Count(log.String(), "The folder can be read again.") != 1 {
		t.Errorf("the log has\n%s", &log)
	}
}

// TestBrokenFoldersAreNotReadAllTheTime: while nothing changes, a folder that cannot be read is tried again only from time to time.
// A module that a manifest names may appear meanwhile.
func TestBrokenFoldersAreNotReadAllTheTime(t *testing.T) {
	dir, to := t.TempDir(), declared{}
	text := "{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: op, namespace: ns}, spec: {module: op.wasm, serviceAccountName: sa}}"
	if err := os.WriteFile(filepath.Join(dir, "op.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(dir, zerolog.Nop())
		for range 2 {
			if err := s.look(to); err == nil {
				t.Fatal("the module does not exist")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "op.wasm"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.look(to); err == nil {
			t.Error("the folder is read at each look")
		}
		time.Sleep(retryInterval)
		if err := s.look(to); err != nil || len(to) != 1 {
			t.Errorf("declared %v, %v", to, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "op.yaml"), []byte("["), 0o600); err != nil {
			t.Fatal(err)
		}
		if s.look(to) == nil {
			t.Error("an invalid manifest is accepted")
		}
		if err := os.WriteFile(filepath.Join(dir, "op.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.look(to); err != nil {
			t.Errorf("a change is not read at once: %v", err)
		}
	})
}
