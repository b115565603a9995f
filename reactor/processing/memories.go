package processing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// memory is what the process remembers of one object, in addition to what is stored on the
// object. Only the worker of the object uses it; there are several if its resource is served in several versions or groups.
//
// Kopf: kopf._core.reactor.inventory (v1.45).
//
// There is one for each object of the cluster, so it has only what most of them need. See RATIONALE.md,
// "What does an operator keep of an idle object?".
type memory struct {
	memo       *memos.Memo
	chain      *loops.Chain                   // of handlings that own patches have caused; nil: none
	background atomic.Pointer[daemons.Memory] // nil: there were no handlers for daemons and timers so far
	trouble    atomic.Pointer[trouble]        // nil: none
	stateLoss  stateLoss
	first      moment // when the object was first seen
	generation uint32 // the generation that handled the object last

	// noticedByListing means that the object is older than the operator, so that it must be
	// resumed; handledOnce means that it has been resumed.
	noticedByListing bool
	handledOnce      bool
}

// trouble is what the process remembers of an object whose handling has failed.
type trouble struct {
	mu        sync.Mutex // guards the fields below
	throttler throttler
	indexing  progression.State // failures and retries of index handlers
	held      *accounts.Lease   // for them

	// remaining are transformations that lost against concurrent changes of the object, by the resources whose handlers have made them.
	remaining map[selectors.Key][]patching.Transformation
}

// moment is a time, in a third of the memory: since the start of the process.
type moment time.Duration

var start = time.Now() //nolint:gochecknoglobals // a constant of the process

func now() moment { return moment(time.Since(start)) }

func (m moment) time() time.Time { return start.Add(time.Duration(m)) }

// daemons returns the daemons and timers of the object.
func (m *memory) daemons() *daemons.Memory {
	if m.background.Load() == nil {
		m.background.CompareAndSwap(nil, daemons.NewMemory(m.first.time(), m.generation)) // the idle time begins when an object is first seen
	}
	return m.background.Load()
}

// troubled returns the trouble of the object, which no other worker uses until settle.
func (m *memory) troubled() *trouble {
	for {
		t := m.trouble.Load()
		if t == nil {
			m.trouble.CompareAndSwap(nil, &trouble{})
			continue
		}
		t.mu.Lock()
		if m.trouble.Load() == t {
			return t
		}
		t.mu.Unlock() // it is over
	}
}

// settle ends the use of a trouble, and forgets it when it is over.
func (m *memory) settle(t *trouble) {
	if t.throttler == (throttler{}) && len(t.indexing.IDs()) == 0 && len(t.remaining) == 0 {
		m.trouble.Store(nil)
	}
	t.mu.Unlock()
}

// isFine reports whether the object has no trouble.
func (m *memory) isFine() bool { return m.trouble.Load() == nil }

// remaining returns the transformations of a resource that are left over.
func (m *memory) remaining(of selectors.Key) []patching.Transformation {
	if m.isFine() {
		return nil
	}
	t := m.troubled()
	defer m.settle(t)
	return t.remaining[of]
}

// leave sets the transformations of a resource that are left over.
func (m *memory) leave(of selectors.Key, remaining []patching.Transformation) {
	if len(remaining) == 0 && m.isFine() {
		return
	}
	t := m.troubled()
	defer m.settle(t)
	if len(remaining) == 0 {
		delete(t.remaining, of)
		return
	}
	if t.remaining == nil {
		t.remaining = map[selectors.Key][]patching.Transformation{}
	}
	t.remaining[of] = remaining
}

// drop releases all transformations that are left over.
func (m *memory) drop(ctx context.Context) {
	if m.isFine() {
		return
	}
	t := m.troubled()
	all := t.remaining
	t.remaining = nil
	m.settle(t)
	for _, remaining := range all {
		patching.New(remaining).Drop(ctx)
	}
}

// indexing returns the failures and retries of index handlers.
func (m *memory) indexing() progression.State {
	if m.isFine() {
		return progression.State{}
	}
	t := m.troubled()
	defer m.settle(t)
	return t.indexing
}

// failureCost is the approximate memory of the failures of an index handler for one object, in bytes.
const failureCost = 256

// indexed sets the failures and retries of index handlers. If the account has no room for them,
// they are forgotten: the handlers are called at the next event of the object.
func (m *memory) indexed(state progression.State, account *accounts.Account) {
	if len(state.IDs()) == 0 && m.isFine() {
		return
	}
	t := m.troubled()
	defer m.settle(t)
	if t.held == nil {
		t.held = accounts.NewLease(account, accounts.Indices, t)
	}
	if t.held.Resize(failureCost*len(state.IDs())) != nil {
		state = progression.State{}
		t.held.Release()
	}
	t.indexing = state
}

// throttledUntil returns until when events of the object are ignored; zero: they are not.
func (m *memory) throttledUntil() time.Time {
	if m.isFine() {
		return time.Time{}
	}
	t := m.troubled()
	defer m.settle(t)
	return t.throttler.until
}

// unthrottle ends the throttling, unless another worker has.
func (m *memory) unthrottle(log loggers.Logger) {
	if m.isFine() {
		return
	}
	t := m.troubled()
	defer m.settle(t)
	if t.throttler.isOn() {
		t.throttler.end(log)
	}
}

// judge is throttler.judge. An object without trouble gets some only with an error.
func (m *memory) judge(ctx context.Context, err error, log loggers.Logger, delays backoffs.Backoffs) bool {
	if err == nil && m.isFine() {
		return false
	}
	t := m.troubled()
	defer m.settle(t)
	return t.throttler.judge(ctx, err, log, delays)
}

// follow forgets the failures of replaced handlers.
func (m *memory) follow(e *generations.Generation) {
	if e == nil || m.generation == e.Number {
		return
	}
	m.generation = e.Number
	m.indexed(progression.State{}, nil)
	if running := m.background.Load(); running != nil {
		running.Renew(e.Number)
	}
}

// Memories are the memories of all objects of an operator.
type Memories struct {
	Account *accounts.Account // the operator's account; nil: no limits
	Base    *memos.Memo       // the operator's memo: the memo of each object starts as its copy

	// Scarce is called with the error when there is no memory for one more object. It must not block. It may be nil.
	Scarce func(error)

	mu          sync.Mutex // guards the fields below
	items       map[string]*memory
	reviewMemos memos.Reviewed // memos of objects that only reviews have seen
}

// NewMemories makes empty memories.
func NewMemories() *Memories {
	return &Memories{items: map[string]*memory{}, Base: memos.New(nil, nil)}
}

// objectCost is what an operator keeps of an object to which nothing happens, in bytes. No object may be lost, so an operator that has no
// memory for one more ends.
const objectCost = 1 << 10

// sleeperCost is what the worker of an object keeps while it sleeps, in bytes: the stack of its goroutine, and what it has decoded.
const sleeperCost = 24 << 10

// occupy counts what an object takes in addition, in bytes, until the returned function is called.
func (m *Memories) occupy(bytes int64) (over func()) {
	m.force(bytes)
	return func() { m.Account.Charged().Give(bytes) }
}

// force counts memory also if the budget has no more of it: Scarce is called then.
func (m *Memories) force(bytes int64) {
	if err := m.Account.Charged().Force(bytes); err != nil && m.Scarce != nil {
		m.Scarce(err)
	}
}

// recall returns the memory of an object, and creates it if necessary.
func (m *Memories) recall(key string, byListing bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		item = &memory{memo: m.reviewMemos.Take(key), noticedByListing: byListing, first: now()}
		if item.memo == nil {
			item.memo = memos.New(m.Base, m.Account)
		}
		m.items[key] = item
		m.force(objectCost)
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
	if !known {
		return nil, false
	}
	if running := item.background.Load(); running != nil {
		ids = running.IDs()
	}
	return ids, true
}

// forget removes and returns the memory of an object that is gone; nil if there is none.
func (m *Memories) forget(key string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := m.items[key]
	if item != nil {
		m.Account.Charged().Give(objectCost)
	}
	delete(m.items, key)
	return item
}

// maxReviewed bounds the uids of objects whose memos are kept for reviews, in bytes. Kubernetes makes them with 36 bytes, but any client
// of the webhook server can send others.
const maxReviewed = 253

// Reviewed returns the memo of an object under review. For an object that is being
// created, it returns a memo that is not kept.
func (m *Memories) Reviewed(uid string, created bool) *memos.Memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item, ok := m.items[uid]; ok {
		return item.memo
	}
	if uid == "" || len(uid) > maxReviewed || created && !m.reviewMemos.Know(uid) {
		return memos.New(m.Base, m.Account)
	}
	return m.reviewMemos.Recall(uid, m.Base, m.Account)
}
