package reactor

import (
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// memory is what the process remembers of one object, beside what is stored on
// the object itself. Only the worker of the object uses it.
//
// Kopf: kopf._core.reactor.inventory (v1.45).
type memory struct {
	memo       *memo
	throttler  throttler
	stripping  stripping
	background backgroundMemory
	indexing   progression.State // failures and retries of index handlers

	// noticedByListing says that the object existed before the operator did, so
	// that it is to be resumed; handledOnce, that it has been.
	noticedByListing bool
	handledOnce      bool

	edition uint32 // whose handlers the object had last

	// remaining are transformations that could not be applied yet, since the
	// object had changed meanwhile.
	remaining []transformation
}

// follow forgets the failures of handlers that were replaced.
func (m *memory) follow(e *edition) {
	if e == nil || m.edition == e.number {
		return
	}
	m.edition, m.indexing = e.number, progression.State{}
	m.background.renew(e.number)
}

// memories are the memories of all objects of an operator.
type memories struct {
	mu    sync.Mutex // guards items
	items map[string]*memory
	base  *memo // of the operator: each object's memo starts as its copy

	strangers strangers // memos of objects that only reviews have seen
}

func newMemories() *memories {
	return &memories{items: map[string]*memory{}, base: newMemo(nil)}
}

// recall finds the memory of an object, or makes one.
func (m *memories) recall(key string, byListing bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		item = &memory{memo: m.strangers.take(key), noticedByListing: byListing}
		if item.memo == nil {
			item.memo = newMemo(m.base)
		}
		item.background.noteChange() // idle times begin when an object is first seen
		m.items[key] = item
	}
	return item
}

// count is how many objects are remembered.
func (m *memories) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items)
}

// daemons are the running daemons and timers of all objects.
func (m *memories) daemons() []*daemon {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*daemon
	for _, item := range m.items {
		all = append(all, item.background.all()...)
	}
	return all
}

// forget drops the memory of an object that is gone.
func (m *memories) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, key)
}

// memo is a set of JSON values by keys. The values have versions, so that
// concurrent handlers do not lose each other's changes.
//
// See https://docs.kopf.dev/en/latest/memos/
type memo struct {
	mu     sync.Mutex // guards values
	values map[string]memoValue
}

type memoValue struct {
	value   []byte
	version uint64
}

// newMemo makes a memo with the values of another one.
func newMemo(base *memo) *memo {
	if base == nil {
		return &memo{}
	}
	base.mu.Lock()
	defer base.mu.Unlock()
	if len(base.values) == 0 {
		return &memo{}
	}
	copied := make(map[string]memoValue, len(base.values))
	for key, value := range base.values {
		copied[key] = value
	}
	return &memo{values: copied}
}

func (m *memo) get(key string) ([]byte, uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return value.value, value.version, ok
}

// set stores a value if the version is the current one: 0 if there is no value
// yet, negative for any. An empty value deletes the key.
func (m *memo) set(key string, value []byte, version int64) (uint64, error) {
	if len(value) > 0 {
		if _, err := dicts.Decode(value); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.values[key]
	if version >= 0 && current.version != uint64(version) {
		return 0, ErrConflict
	}
	if len(value) == 0 {
		delete(m.values, key)
		return 0, nil
	}
	if m.values == nil {
		m.values = map[string]memoValue{}
	}
	next := memoValue{value: append([]byte(nil), value...), version: current.version + 1}
	m.values[key] = next
	return next.version, nil
}
