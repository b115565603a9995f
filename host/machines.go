package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
)

// machines are the machines of the process that modules can share.
//
// See RATIONALE.md, "Why do modules with equal code share a runtime?".
var machines = machineSet{items: map[machineKey]*sharedMachine{}} //nolint:gochecknoglobals // all modules of the process share them

// machine is a runtime with the code of one module. Modules with equal code share it: instances
// have the state of a module, and the machine has none.
type machine struct {
	runtime  wazero.Runtime
	hosts    []wazero.CompiledModule // the host functions in the runtime
	engine   *engine                 // nil: the runtime has its own
	compiled wazero.CompiledModule
	size     int64 // of the machine code, and of what the engine keeps besides it, in bytes

	// charged are the modules that use it. The operator of the first one is charged for the machine code, which is there once. The lock
	// of the set guards them.
	charged []*Module

	key machineKey // zero: no other module can share it
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
	items map[machineKey]*sharedMachine
}

// sharedMachine is a machine that is used, or being built.
type sharedMachine struct {
	users   int
	built   chan struct{} // closed after machine was set
	machine *machine      // nil: it could not be built
}

// take returns the machine for a key, and builds it at the first use. The caller gives it back. Only those who want the
// same machine wait while it is built.
func (s *machineSet) take(key machineKey, build func() (*machine, error)) (*machine, error) {
	for {
		shared, first := s.enter(key)
		if first {
			return s.fill(shared, key, build)
		}
		if <-shared.built; shared.machine != nil {
			return shared.machine, nil
		}
	}
}

// enter adds a user of a machine, and reports whether that user has to build it.
func (s *machineSet) enter(key machineKey) (shared *sharedMachine, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared = s.items[key]
	if first = shared == nil; first {
		shared = &sharedMachine{built: make(chan struct{})}
		s.items[key] = shared
	}
	shared.users++
	return shared, first
}

// fill builds a machine. If that fails, the next user tries again: it may be allowed what this one was not.
func (s *machineSet) fill(shared *sharedMachine, key machineKey, build func() (*machine, error)) (m *machine, err error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if shared.machine = m; m == nil {
			delete(s.items, key)
		} else {
			m.key = key
		}
		close(shared.built)
	}()
	return build()
}

// charge charges the operator of a module for a machine, unless another one is charged.
//
// Errors: accounts.BudgetError.
func (s *machineSet) charge(m *machine, user *Module) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.charged) == 0 {
		if err := user.charge().Take(m.size); err != nil {
			return err
		}
	}
	m.charged = append(m.charged, user)
	return nil
}

// discharge undoes charge: the operator of another module is charged now.
func (s *machineSet) discharge(m *machine, user *Module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(m.charged, user)
	if at < 0 { // the charge was refused
		return
	}
	if m.charged = slices.Delete(m.charged, at, at+1); at > 0 {
		return
	}
	user.charge().Give(m.size)
	if len(m.charged) > 0 {
		_ = m.charged[0].charge().Force(m.size) // what this operator wants in addition is refused earlier
	}
}

// give gives a machine back, after all instances of the module were closed. The last module
// closes it.
func (s *machineSet) give(ctx context.Context, m *machine, user *Module) error {
	if m == nil {
		return nil
	}
	s.discharge(m, user)
	if s.isUsed(m) {
		return nil
	}
	return m.close(ctx)
}

// isUsed removes a user, and reports whether there are others.
func (s *machineSet) isUsed(m *machine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.items[m.key]
	if shared == nil || shared.machine != m {
		return false
	}
	if shared.users--; shared.users > 0 {
		return true
	}
	delete(s.items, m.key)
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
