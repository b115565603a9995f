package reactor

import (
	"sync"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// memory is what the process remembers of one object, beside what is stored on
// the object itself. Only the worker of the object uses it.
//
// Kopf: kopf._core.reactor.inventory (v1.45).
type memory struct {
	memo       *memo
	throttler  throttler
	stateLoss  stateLoss
	background backgroundMemory
	indexing   progression.State // failures and retries of index handlers

	// noticedByListing says that the object existed before the operator did, so
	// that it is to be resumed; handledOnce, that it has been.
	noticedByListing bool
	handledOnce      bool

	generation uint32 // whose handlers the object had last

	// remaining are transformations that could not be applied yet, since the
	// object had changed meanwhile.
	remaining []transformation
}

// follow forgets the failures of handlers that were replaced.
func (m *memory) follow(e *generation) {
	if e == nil || m.generation == e.number {
		return
	}
	m.generation, m.indexing = e.number, progression.State{}
	m.background.renew(e.number)
}

// memories are the memories of all objects of an operator.
type memories struct {
	account *accounts.Account // of the operator; nil: no limits

	mu    sync.Mutex // guards items
	items map[string]*memory
	base  *memo // of the operator: each object's memo starts as its copy

	reviewMemos reviewMemos // memos of objects that only reviews have seen
}

func newMemories() *memories {
	return &memories{items: map[string]*memory{}, base: newMemo(nil, nil)}
}

// recall finds the memory of an object, or makes one.
func (m *memories) recall(key string, byListing bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		item = &memory{memo: m.reviewMemos.take(key), noticedByListing: byListing}
		if item.memo == nil {
			item.memo = newMemo(m.base, m.account)
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

// forget drops the memory of an object that is gone.
func (m *memories) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, key)
}

// reviewed is the memo of an object that is reviewed: its own, if it is known. That of
// an object that is being created is thrown away.
func (m *memories) reviewed(uid string, created bool) *memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item, ok := m.items[uid]; ok {
		return item.memo
	}
	if uid == "" || created && !m.reviewMemos.know(uid) {
		return newMemo(m.base, m.account)
	}
	return m.reviewMemos.recall(uid, m.base, m.account)
}
