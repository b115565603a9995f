package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/tetratelabs/wazero"
)

// machines are the machines of the process that modules can share.
//
// See RATIONALE.md, "Why do modules with equal code share a runtime?".
var machines = machineSet{items: map[machineKey]*machine{}} //nolint:gochecknoglobals // all modules of the process share them

// machine is a runtime with the code of one module. Modules with equal code share it: instances
// have the state of a module, and the machine has none.
type machine struct {
	runtime  wazero.Runtime
	hosts    []wazero.CompiledModule // the host functions in the runtime
	engine   *engine                 // nil: the runtime has its own
	compiled wazero.CompiledModule

	key   machineKey
	users int // zero: no other module can share it
}

// machineKey is what modules that share a machine have in common.
type machineKey struct {
	folder string            // of the machine code
	code   [sha256.Size]byte // of the shell, which has the digest of the code
	pages  uint32            // of the memory
}

// machineSet holds machines while modules use them.
type machineSet struct {
	mu    sync.Mutex // guards items and their users
	items map[machineKey]*machine
}

// take returns the machine for a key, and builds it at the first use. The caller gives it back.
func (s *machineSet) take(key machineKey, build func() (*machine, error)) (*machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.items[key]; m != nil {
		m.users++
		return m, nil
	}
	m, err := build()
	if err != nil {
		return nil, err
	}
	m.key, m.users = key, 1
	s.items[key] = m
	return m, nil
}

// give gives a machine back, after all instances of the module were closed. The last module
// closes it.
func (s *machineSet) give(ctx context.Context, m *machine) error {
	if m == nil || s.isUsed(m) {
		return nil
	}
	return m.close(ctx)
}

// isUsed removes a user, and reports whether there are others.
func (s *machineSet) isUsed(m *machine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.users > 1 {
		m.users--
		return true
	}
	if s.items[m.key] == m {
		delete(s.items, m.key)
	}
	return false
}

// close frees the machine, with all instances in it.
func (m *machine) close(ctx context.Context) error {
	var err error
	if m.runtime != nil {
		err = m.runtime.Close(ctx)
	}
	for _, compiled := range append(m.hosts, m.compiled) { // the engine may outlive the runtime
		if compiled != nil {
			err = errors.Join(err, compiled.Close(ctx))
		}
	}
	if m.engine != nil {
		err = errors.Join(err, engines.give(ctx, m.engine))
	}
	return err
}
