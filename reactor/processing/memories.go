package processing

import (
	"sync"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// memory is what the process remembers of one object, in addition to what is stored on the
// object. Only the worker of the object uses it.
//
// Kopf: kopf._core.reactor.inventory (v1.45).
type memory struct {
	memo       *memos.Memo
	throttler  throttler
	stateLoss  stateLoss
	chain      *loops.Chain // of handlings that own patches have caused; nil: none
	Background daemons.Memory
	indexing   progression.State // failures and retries of index handlers

	// noticedByListing means that the object is older than the operator, so that it must be
	// resumed; handledOnce means that it has been resumed.
	noticedByListing bool
	handledOnce      bool

	generation uint32 // the generation that handled the object last

	// remaining are transformations that lost against concurrent changes of the object.
	remaining []patching.Transformation
}

// follow forgets the failures of replaced handlers.
func (m *memory) follow(e *generations.Generation) {
	if e == nil || m.generation == e.Number {
		return
	}
	m.generation, m.indexing = e.Number, progression.State{}
	m.Background.Renew(e.Number)
}

// Memories are the memories of all objects of an operator.
type Memories struct {
	Account *accounts.Account // the operator's account; nil: no limits

	mu    sync.Mutex // guards items
	items map[string]*memory
	Base  *memos.Memo // the operator's memo: the memo of each object starts as its copy

	reviewMemos memos.Reviewed // memos of objects that only reviews have seen
}

// NewMemories makes empty memories.
func NewMemories() *Memories {
	return &Memories{items: map[string]*memory{}, Base: memos.New(nil, nil)}
}

// recall returns the memory of an object, and creates it if necessary.
func (m *Memories) recall(key string, byListing bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		item = &memory{memo: m.reviewMemos.Take(key), noticedByListing: byListing}
		if item.memo == nil {
			item.memo = memos.New(m.Base, m.Account)
		}
		item.Background.NoteChange() // the idle time begins when an object is first seen
		m.items[key] = item
	}
	return item
}

// Notice remembers an object, if it is not remembered yet.
func (m *Memories) Notice(key string, byListing bool) { m.recall(key, byListing) }

// Count returns how many objects are remembered.
func (m *Memories) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items)
}

// Daemons returns the ids of the running daemons and timers of an object, and whether the object
// is remembered.
func (m *Memories) Daemons(key string) (ids []string, known bool) {
	m.mu.Lock()
	item, known := m.items[key]
	m.mu.Unlock()
	if known {
		ids = item.Background.IDs()
	}
	return ids, known
}

// forget removes and returns the memory of an object that is gone; nil if there is none.
func (m *Memories) forget(key string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := m.items[key]
	delete(m.items, key)
	return item
}

// Reviewed returns the memo of an object under review. For an object that is being
// created, it returns a memo that is not kept.
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
