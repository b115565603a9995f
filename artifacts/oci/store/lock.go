package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lock prevents removals while writers put several parts. Writers share the lock, and
// removals are exclusive. lock blocks. The lock ends with the process at the latest.
func (s *Store) lock(alone bool) (unlock func(), err error) {
	path := filepath.Join(s.dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil && !alone && isReadOnly(err) { // as the store of an image: it can still be read
		if f, err = os.Open(path); errors.Is(err, fs.ErrNotExist) {
			return func() {}, nil // no other process can remove anything, either
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the store of modules: %w", err)
	}
	if err := lockFile(f, alone); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks
}

// isReadOnly reports whether an error says that files cannot be written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// Share prevents removals until the returned function is called. Hold it from the first Put
// of an artifact's parts until its reference is set.
func (s *Store) Share() (done func(), err error) { return s.lock(false) }
