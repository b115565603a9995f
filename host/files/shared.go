package files

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// shared holds the sets of the process. Operators with equal packages have them in memory
// once.
var shared = sets{items: map[[sha256.Size]byte]weak.Pointer[Set]{}} //nolint:gochecknoglobals // all modules of the process share them

// sets holds sets by the digests of their sections, while modules use them.
type sets struct {
	mu    sync.Mutex // guards items
	items map[[sha256.Size]byte]weak.Pointer[Set]
}

// get returns the set of a section. A new set is parsed from a copy, so the module's bytes
// can be freed.
func (s *sets) get(content []byte, parse func([]byte) (*Set, error)) (*Set, error) {
	key := sha256.Sum256(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.items[key].Value(); known != nil {
		return known, nil
	}
	set, err := parse(bytes.Clone(content))
	if err != nil {
		return nil, err
	}
	s.items[key] = weak.Make(set)
	runtime.AddCleanup(set, s.forget, key)
	return set, nil
}

// forget removes a set that no module uses. A later equal set may have taken its place.
func (s *sets) forget(key [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[key].Value() == nil {
		delete(s.items, key)
	}
}
