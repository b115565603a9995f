// Package generations has the versions of the handlers of an operator: the present one, and
// those before it that are still called.
package generations

import (
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// Generation is one version of the operator's handlers, with what depends on them. It
// is what Operator.Replace replaces. Whoever may call its guests holds it meanwhile.
type Generation struct {
	Number    uint32
	Registry  *registries.Registry
	Lifecycle progression.Lifecycle
	Services  *handling.Services
	Indexed   *indexing.Gate // open when the indices are complete
	Replaced  atomic.Bool

	Reviewed func(parent, key string) bool // which parts of a body reviews decode

	Holders sync.WaitGroup

	mu      sync.Mutex                              // guards awaited
	awaited map[dimensions.Key]dimensions.Dimension // streams that the gate waits for, and that have not begun
}

// New makes a generation of the handlers. The indices and the caller of the
// services are its own.
func New(number uint32, r *registries.Registry, of handling.Services, caller *calls.Caller) (*Generation, error) {
	r = r.Clone()
	of.Indices, of.Caller = indexing.New(registries.IDs(r.Indexing), of.Account), caller
	e := &Generation{
		Number: number, Registry: r, Lifecycle: progression.ASAP, Services: &of, Indexed: indexing.NewGate(),
		awaited: map[dimensions.Key]dimensions.Dimension{}, Reviewed: registries.ReviewedParts(r.Admission),
	}
	if r.Lifecycle != "" {
		lifecycle, err := registries.Lifecycle(r.Lifecycle)
		if err != nil {
			return nil, err
		}
		e.Lifecycle = lifecycle
	}
	return e, nil
}

// Generations are the present generation of an operator, and those that are still held.
type Generations struct {
	mu      sync.RWMutex // guards current
	current *Generation
}

// Present is the generation for code that calls no guest.
func (s *Generations) Present() *Generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// Hold returns the present generation to code that may call its guests. The caller
// releases it.
func (s *Generations) Hold() *Generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.current.Hold()
	return s.current
}

// Replace makes another generation the present one. Code that does not hold the old
// one at this moment never holds it.
func (s *Generations) Replace(next *Generation) (old *Generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.current = s.current, next
	if old != nil {
		old.Replaced.Store(true)
		old.Indexed.Shut()
	}
	return old
}

// ID is the number of a generation; that of tests is 0.
func (e *Generation) ID() uint32 {
	if e == nil {
		return 0
	}
	return e.Number
}

// IsReplaced tells whether another generation has taken its place.
func (e *Generation) IsReplaced() bool { return e != nil && e.Replaced.Load() }

// Hold adds a holder to a generation that has one. A nil generation is of tests.
func (e *Generation) Hold() {
	if e != nil {
		e.Holders.Add(1)
	}
}

func (e *Generation) Release() {
	if e != nil {
		e.Holders.Done()
	}
}

// Await makes the gate wait for a stream, if its resource is indexed.
func (e *Generation) Await(d dimensions.Dimension) {
	if len(e.Registry.ForResource(d.Resource).Indexing) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.awaited[d.Key()]; !ok && e.Indexed.Add() {
		e.awaited[d.Key()] = d
	}
}

// GateOf is the gate that waits for a stream; nil if it does not.
func (e *Generation) GateOf(d dimensions.Dimension) *indexing.Gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := d.Key()
	if _, ok := e.awaited[key]; !ok {
		return nil
	}
	delete(e.awaited, key)
	return e.Indexed
}

// Inherit makes the gate wait for the streams that another generation has not seen begin.
func (e *Generation) Inherit(old *Generation) {
	old.mu.Lock()
	defer old.mu.Unlock()
	for _, d := range old.awaited {
		e.Await(d)
	}
}
