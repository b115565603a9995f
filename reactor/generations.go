package reactor

import (
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// generation is one version of the operator's handlers, with what depends on them. It
// is what Operator.Replace replaces. Whoever may call its guests holds it meanwhile.
type generation struct {
	number    uint32
	registry  *Registry
	lifecycle progression.Lifecycle
	services  *services
	indexed   *gate // open when the indices are complete
	replaced  atomic.Bool

	reviewed func(parent, key string) bool // which parts of a body reviews decode

	holders sync.WaitGroup

	mu      sync.Mutex                 // guards awaited
	awaited map[dimensionKey]dimension // streams that the gate waits for, and that have not begun
}

// newGeneration makes a generation of the handlers. The indices and the caller of the
// services are its own.
func newGeneration(number uint32, r *Registry, of services, caller *calls.Caller) (*generation, error) {
	r = r.clone()
	of.indices, of.caller = indexing.New(idsOf(r.indexing), of.account), caller
	e := &generation{
		number: number, registry: r, lifecycle: progression.ASAP, services: &of, indexed: newGate(),
		awaited: map[dimensionKey]dimension{}, reviewed: reviewedParts(r.admission),
	}
	if r.lifecycle != "" {
		lifecycle, err := lifecycleByName(r.lifecycle)
		if err != nil {
			return nil, err
		}
		e.lifecycle = lifecycle
	}
	return e, nil
}

// generations are the present generation of an operator, and those that are still held.
type generations struct {
	mu      sync.RWMutex // guards current
	current *generation
}

// present is the generation for code that calls no guest.
func (s *generations) present() *generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// hold returns the present generation to code that may call its guests. The caller
// releases it.
func (s *generations) hold() *generation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.current.hold()
	return s.current
}

// replace makes another generation the present one. Code that does not hold the old
// one at this moment never holds it.
func (s *generations) replace(next *generation) (old *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.current = s.current, next
	if old != nil {
		old.replaced.Store(true)
		old.indexed.shut()
	}
	return old
}

// id is the number of a generation; that of tests is 0.
func (e *generation) id() uint32 {
	if e == nil {
		return 0
	}
	return e.number
}

// isReplaced tells whether another generation has taken its place.
func (e *generation) isReplaced() bool { return e != nil && e.replaced.Load() }

// hold adds a holder to a generation that has one. A nil generation is of tests.
func (e *generation) hold() {
	if e != nil {
		e.holders.Add(1)
	}
}

func (e *generation) release() {
	if e != nil {
		e.holders.Done()
	}
}

// await makes the gate wait for a stream, if its resource is indexed.
func (e *generation) await(d dimension) {
	if len(e.registry.forResource(d.resource).indexing) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.awaited[d.key()]; !ok && e.indexed.add() {
		e.awaited[d.key()] = d
	}
}

// gateOf is the gate that waits for a stream; nil if it does not.
func (e *generation) gateOf(d dimension) *gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := d.key()
	if _, ok := e.awaited[key]; !ok {
		return nil
	}
	delete(e.awaited, key)
	return e.indexed
}

// inherit makes the gate wait for the streams that another generation has not seen begin.
func (e *generation) inherit(old *generation) {
	old.mu.Lock()
	defer old.mu.Unlock()
	for _, d := range old.awaited {
		e.await(d)
	}
}
