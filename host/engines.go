package host

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
)

// engines are the engines of the process, by the folder of their machine code. Modules with
// the same code have it in memory once.
//
// See RATIONALE.md, "Why do modules share an engine?".
var engines = engineSet{items: map[string]*engine{}} //nolint:gochecknoglobals // all modules of the process share them

// engineSet holds engines while modules use them.
type engineSet struct {
	mu    sync.Mutex // guards items
	items map[string]*engine
}

// engine is one engine with the number of modules that use it.
type engine struct {
	folder string
	cache  wazero.CompilationCache
	users  int

	// loading is held while machine code is loaded from the folder: wazero offers it to other
	// runtimes of the engine before it is complete, and a call of it then panics.
	loading sync.Mutex
}

// take returns the engine of a folder. The caller gives it back.
func (s *engineSet) take(folder string) (*engine, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[folder]
	if e == nil {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			return nil, err
		}
		e = &engine{folder: folder, cache: cache}
		s.items[folder] = e
	}
	e.users++
	return e, nil
}

// give gives an engine back. The last module closes it.
func (s *engineSet) give(ctx context.Context, e *engine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.users--; e.users > 0 {
		return nil
	}
	delete(s.items, e.folder)
	return e.cache.Close(ctx)
}
