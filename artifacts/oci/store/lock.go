package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lock prevents removals while writers put several parts. Writers share the lock, and
// removals are exclusive. lock blocks. The lock ends with the process at the latest.
func (s *Store) lock(alone bool) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store of modules: %w", err)
	}
	if err := lockFile(f, alone); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks
}

// Share prevents removals until the returned function is called. Hold it from the first Put
// of an artifact's parts until its reference is set.
func (s *Store) Share() (done func(), err error) { return s.lock(false) }
