// Package generations holds the versions of the handlers of an operator: the current one,
// and earlier ones whose handlers are still running.
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

// Generation is one version of the operator's handlers, with what depends on them.
// Operator.Replace replaces it. Code that may call its guests holds it during that time.
type Generation struct {
	Number    uint32
	Registry  *registries.Registry
	Lifecycle progression.Lifecycle
	Services  *handling.Services
	Indexed   *indexing.Gate // opens when the indices are complete
	Replaced  atomic.Bool

	Reviewed func(parent, key string) bool // reports which parts of a body reviews decode

	Holders sync.WaitGroup

	mu      sync.Mutex                              // guards awaited
	awaited map[dimensions.Key]dimensions.Dimension // streams that the gate waits for and that have not begun
}

// New makes a generation of handlers. The services get their own indices and caller.
func New(number uint32, r *registries.Registry, of handling.Services, caller *calls.Caller) (*Generation, error) {
	r = r.Clone()
	r.Measure(of.Meters)
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

// Generations are the current generation of an operator, and earlier ones that are still
// held.
type Generations struct {
	mu      sync.RWMutex // guards current
	current *Generation
}

// Present returns the current generation, for code that calls no guest.
func (s *Generations) Present() *Generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// Hold returns the current generation to code that may call its guests. The caller must
// release it.
func (s *Generations) Hold() *Generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.current.Hold()
	return s.current
}

// Replace makes another generation the current one. Code that does not already hold the
// old generation can no longer get it.
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

// ID returns the number of a generation; 0 in tests.
func (e *Generation) ID() uint32 {
	if e == nil {
		return 0
	}
	return e.Number
}

// IsReplaced reports whether another generation is the current one.
func (e *Generation) IsReplaced() bool { return e != nil && e.Replaced.Load() }

// Hold adds a holder to a generation that has one. In tests, the generation may be nil.
func (e *Generation) Hold() {
	if e != nil {
		e.Holders.Add(1)
	}
}

// Release removes a holder. After the last one, the guests are no longer called.
func (e *Generation) Release() {
	if e != nil {
		e.Holders.Done()
	}
}

// Await makes the gate wait for a stream if its resource is indexed.
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

// GateOf returns the gate that waits for a stream; nil if none does.
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

// Inherit makes the gate wait for the streams that had not begun under the old generation.
func (e *Generation) Inherit(old *Generation) {
	old.mu.Lock()
	defer old.mu.Unlock()
	for _, d := range old.awaited {
		e.Await(d)
	}
}
