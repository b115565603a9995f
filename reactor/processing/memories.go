package processing

import (
	"sync"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// memory is what the process remembers of one object, beside what is stored on
// the object itself. Only the worker of the object uses it.
//
// Kopf: kopf._core.reactor.inventory (v1.45).
type memory struct {
	memo       *memos.Memo
	throttler  throttler
	stateLoss  stateLoss
	Background daemons.Memory
	indexing   progression.State // failures and retries of index handlers

	// noticedByListing says that the object existed before the operator did, so
	// that it is to be resumed; handledOnce, that it has been.
	noticedByListing bool
	handledOnce      bool

	generation uint32 // whose handlers the object had last

	// remaining are transformations that could not be applied yet, since the
	// object had changed meanwhile.
	remaining []patching.Transformation
}

// follow forgets the failures of handlers that were replaced.
func (m *memory) follow(e *generations.Generation) {
	if e == nil || m.generation == e.Number {
		return
	}
	m.generation, m.indexing = e.Number, progression.State{}
	m.Background.Renew(e.Number)
}

// Memories are the memories of all objects of an operator.
type Memories struct {
	Account *accounts.Account // of the operator; nil: no limits

	mu    sync.Mutex // guards items
	items map[string]*memory
	Base  *memos.Memo // of the operator: each object's memo starts as its copy

	reviewMemos memos.Reviewed // memos of objects that only reviews have seen
}

func NewMemories() *Memories {
	return &Memories{items: map[string]*memory{}, Base: memos.New(nil, nil)}
}

// recall finds the memory of an object, or makes one.
func (m *Memories) recall(key string, byListing bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		item = &memory{memo: m.reviewMemos.Take(key), noticedByListing: byListing}
		if item.memo == nil {
			item.memo = memos.New(m.Base, m.Account)
		}
		item.Background.NoteChange() // idle times begin when an object is first seen
		m.items[key] = item
	}
	return item
}

// Notice remembers an object, if it is not remembered yet.
func (m *Memories) Notice(key string, byListing bool) { m.recall(key, byListing) }

// Count is how many objects are remembered.
func (m *Memories) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items)
}

// forget drops the memory of an object that is gone.
func (m *Memories) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, key)
}

// Reviewed is the memo of an object that is reviewed: its own, if it is known. That of
// an object that is being created is thrown away.
func (m *Memories) Reviewed(uid string, created bool) *memos.Memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item, ok := m.items[uid]; ok {
		return item.memo
	}
	if uid == "" || created && !m.reviewMemos.Know(uid) {
		return memos.New(m.Base, m.Account)
	}
	return m.reviewMemos.Recall(uid, m.Base, m.Account)
}
