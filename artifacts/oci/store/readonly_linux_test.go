package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStoresThatCanOnlyBeRead: the store of an image. Nothing can be removed from it, so it needs no lock.
func TestStoresThatCanOnlyBeRead(t *testing.T) {
	s := open(t)
	digest, err := s.Put([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Dir(), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(s.Dir(), 0o700) }) // the folder has to go
	if os.Geteuid() == 0 {                             // who can write everywhere
		becomeNobody(t, filepath.Dir(filepath.Dir(s.Dir())))
	}
	done, err := s.Share()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := s.Get(digest); err != nil {
		t.Error(err)
	}
	if err := s.Sweep(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("removing: %v", err)
	}
}

// becomeNobody lets others read a folder, and the rest of the test have the rights of another user for files.
func becomeNobody(t *testing.T, folder string) {
	t.Helper()
	const nobody = 65534
	if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o555))
	}); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Error(err) // the thread ends with the test
			return
		}
		runtime.UnlockOSThread()
	})
}
