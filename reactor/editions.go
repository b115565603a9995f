package reactor

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// edition is one version of the operator's handlers, with what depends on them. It
// is what Operator.Replace replaces. Whoever may call its guests holds it meanwhile.
type edition struct {
	number    uint32
	registry  *Registry
	lifecycle progression.Lifecycle
	indices   *indexing.Indices
	indexed   *gate // open when the indices are complete
	caller    *calls.Caller
	replaced  atomic.Bool

	reviewed func(parent, key string) bool // which parts of a body reviews decode

	holders sync.WaitGroup

	mu      sync.Mutex                 // guards awaited
	awaited map[dimensionKey]dimension // streams that the gate waits for, and that have not begun
}

// newEdition makes an edition of the handlers.
func (op *Operator) newEdition(number uint32, r *Registry, o calls.Options) (*edition, error) {
	e := &edition{
		number: number, registry: r, lifecycle: progression.ASAP, indices: indexing.New(idsOf(r.indexing)), indexed: newGate(),
		awaited: map[dimensionKey]dimension{}, reviewed: reviewedParts(r.admission),
	}
	if r.lifecycle != "" {
		lifecycle, err := lifecycleByName(r.lifecycle)
		if err != nil {
			return nil, err
		}
		e.lifecycle = lifecycle
	}
	e.caller = calls.New(o, op.Namespaces, op.connected)
	return e, nil
}

// editions are the present edition of an operator, and those that are still held.
type editions struct {
	mu      sync.RWMutex // guards current
	current *edition
}

// present is the edition for those who call no guest.
func (s *editions) present() *edition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// hold is the present edition, for those who may call its guests. They have to
// release it.
func (s *editions) hold() *edition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.current.hold()
	return s.current
}

// replace makes another edition the present one. Nobody who does not hold the old
// one by now will ever do.
func (s *editions) replace(next *edition) (old *edition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.current = s.current, next
	if old != nil {
		old.replaced.Store(true)
		old.indexed.shut()
	}
	return old
}

// hold is for those who follow somebody who holds the edition. Nil is of tests.
func (e *edition) hold() {
	if e != nil {
		e.holders.Add(1)
	}
}

func (e *edition) release() {
	if e != nil {
		e.holders.Done()
	}
}

// await makes the gate wait for a stream, if its resource is indexed.
func (e *edition) await(d dimension) {
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
func (e *edition) gateOf(d dimension) *gate {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := d.key()
	if _, ok := e.awaited[key]; !ok {
		return nil
	}
	delete(e.awaited, key)
	return e.indexed
}

// inherit makes the gate wait for the streams that another edition has not seen begin.
func (e *edition) inherit(old *edition) {
	old.mu.Lock()
	defer old.mu.Unlock()
	for _, d := range old.awaited {
		e.await(d)
	}
}

// errReplaced is of an event that came under an edition which was replaced before its
// indices were complete: it is begun anew.
var errReplaced = errors.New("the handlers have been replaced")
