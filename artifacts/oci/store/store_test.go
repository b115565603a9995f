package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/private"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "modules"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// full is a file on a disk that becomes full in its middle, or when it is flushed.
type full struct {
	*os.File
	room int
}

func (f *full) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:f.room])
	return n, syscall.ENOSPC
}

func (f *full) Sync() error {
	if f.room > 100 {
		return syscall.ENOSPC
	}
	return f.File.Sync()
}

// On a full disk nothing half-written is left, and what was there before stays.
func TestFullDisk(t *testing.T) {
	for name, room := range map[string]int{"at once": 0, "in the middle": 3, "when it is flushed": 1000} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			before := Entry{Name: "example.com/op:v1", Digest: layout.Digest([]byte("before"))}
			if err := s.Set(before); err != nil {
				t.Fatal(err)
			}
			usual := s.create
			s.create = func(dir, pattern string) (file, error) {
				f, err := os.CreateTemp(dir, pattern)
				return &full{f, room}, err
			}
			if _, err := s.Put([]byte("content")); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error %v", err)
			}
			if err := s.Set(Entry{Name: before.Name, Digest: layout.Digest(nil)}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error %v", err)
			}
			if _, err := s.Get(layout.Digest([]byte("content"))); !errors.Is(err, ErrAbsent) {
				t.Errorf("error %v", err)
			}
			if got, err := s.Find(before.Name); err != nil || got != before {
				t.Errorf("%v, %v", got, err)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir(), "*", ".*")); left != nil {
				t.Errorf("left: %v", left)
			}
			if left, _ := filepath.Glob(filepath.Join(s.Dir(), "blobs", "sha256", "*")); left != nil {
				t.Errorf("left: %v", left)
			}
			s.create = usual
			if _, err := s.Put([]byte("content")); err != nil {
				t.Error(err)
			}
		})
	}
}

// put puts an artifact of one module.
func put(t *testing.T, s *Store, name, module string) Entry {
	t.Helper()
	packed, err := layout.Pack([]byte("\x00asm\x01\x00\x00\x00"+module), "operator.wasm", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{packed.Manifest, packed.Config, packed.Module} {
		if _, err := s.Put(content); err != nil {
			t.Fatal(err)
		}
	}
	e := Entry{Name: name, Digest: layout.Digest(packed.Manifest), Size: int64(len(packed.Module)), Pulled: time.Unix(1, 0).UTC()}
	if err := s.Set(e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEntries(t *testing.T) {
	s := open(t)
	b := put(t, s, "example.com/b/op:v1", "shared")
	a := put(t, s, "example.com/a/op@sha256:odd name/..", "shared")
	c := put(t, s, "example.com/c:v1", "other")
	if err := os.WriteFile(filepath.Join(s.Dir(), "refs", "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(want ...Entry) {
		t.Helper()
		got, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
	}
	blobs := func(want int) {
		t.Helper()
		if files, err := filepath.Glob(filepath.Join(s.Dir(), "blobs", "sha256", "*")); err != nil || len(files) != want {
			t.Errorf("%d blobs, want %d (%v)", len(files), want, err)
		}
	}
	list(a, b, c)
	blobs(6)
	if _, err := s.Remove("example.com/nothing:v1"); !errors.Is(err, ErrAbsent) {
		t.Errorf("error %v", err)
	}
	if gone, err := s.Remove(b.Name + "@" + b.Digest); err != nil || len(gone) != 1 {
		t.Errorf("removed %v, %v", gone, err)
	}
	list(a, c)
	blobs(6) // a needs them
	if gone, err := s.Remove(a.Digest); err != nil || len(gone) != 1 || gone[0] != a.Name {
		t.Errorf("removed %v, %v", gone, err)
	}
	list(c)
	blobs(3)
	if err := os.WriteFile(filepath.Join(s.Dir(), "blobs", "sha256", ".temp-killed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(s.Dir(), "blobs", "sha256", ".temp-killed"), time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(c.Name); err != nil {
		t.Error(err)
	}
	list()
	if left, err := os.ReadDir(filepath.Join(s.Dir(), "blobs", "sha256")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOpenBelowAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path); err == nil || s != nil {
		t.Errorf("%v, %v", s, err)
	}
}

// A reference that is longer than names of files may be is kept, found, listed and removed.
func TestLongNames(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "modules"))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := s.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"example.com/" + strings.Repeat("long/", 60) + "a:v1", "example.com/" + strings.Repeat("long/", 60) + "b:v1"}
	for _, name := range names {
		if err := s.Set(Entry{Name: name, Digest: digest}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if e, err := s.Find(name); err != nil || e.Name != name {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if all, err := s.List(); err != nil || len(all) != 2 || all[0].Name != names[0] || all[1].Name != names[1] {
		t.Errorf("%+v, %v", all, err)
	}
	if gone, err := s.Remove(names[0]); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
}

// What cannot be read now is not removed with something else: its owner may repair it, and there may be no registry.
func TestRemovalKeepsWhatCannotBeRead(t *testing.T) {
	for _, damaged := range []func(s *Store, e Entry) string{
		func(s *Store, e Entry) string { return s.entry(e.Name) },
		func(s *Store, e Entry) string { return s.blob(e.Digest) },
	} {
		s := open(t)
		kept, other := put(t, s, "example.com/kept:v1", "kept"), put(t, s, "example.com/other:v1", "other")
		file := damaged(s, kept)
		if err := os.Chmod(file, 0o666); err != nil {
			t.Fatal(err)
		}
		if gone, err := s.Remove(other.Name); len(gone) != 1 || !errors.Is(err, private.ErrShared) {
			t.Errorf("removed %v, %v", gone, err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		m, _, err := s.Manifest(kept.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(m.Layers[0].Digest); err != nil {
			t.Error(err)
		}
		if err := s.Sweep(); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(other.Digest); !errors.Is(err, ErrAbsent) {
			t.Errorf("what is not needed stays: %v", err)
		}
	}
}

// Temporary files of killed processes are removed, also those of references.
func TestTemporaryFilesOfReferences(t *testing.T) {
	s := open(t)
	for name, age := range map[string]time.Duration{".temp-killed": 2 * time.Hour, ".temp-written": 0} {
		path := filepath.Join(s.Dir(), "refs", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir(), "refs")); err != nil || len(left) != 1 || left[0].Name() != ".temp-written" {
		t.Errorf("left: %v, %v", left, err)
	}
}
