package queueing

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// maxSlots limits the objects that are handled at the same time. More would take memory,
// but not be faster: guests share the cores, and the API server takes clients.MaxWrites
// concurrent patches. A worker that waits for something else gives up its slot.
const maxSlots = 4 * clients.MaxWrites

// maxReady limits the ready objects of a listing before its next page is read, so that
// large listings are not held in memory.
const maxReady = 4 * maxSlots

// Queues passes the events of each object to its handling, one at a time and in order.
// Objects do not wait for each other, unless a limit of workers is set.
//
// # Guarantees
//
//   - Two events of one object are never handled at the same time.
//   - Objects get workers in the order of their events. An object without events has no
//     worker.
//   - Consecutive changes that arrive faster than they are handled are merged, so that the
//     queue of an object is bounded. They are not merged if handlers need each raw event.
//   - If the waiting bodies exceed the limit PendingMemory, changes are merged in any case,
//     and wait without their bodies. No object that exists is lost: see shed and vanished.
//
// Kopf: kopf._core.reactor.queueing (v1.45), where each object has its own worker.
type Queues struct {
	Process  func(ctx context.Context, item Item, q *Queue) (version string)
	Account  *accounts.Account // for waiting bodies
	Waits    *meters.Histogram // how long events wait for a worker; nil: nothing measures it
	Idle     time.Duration     // how long a worker without objects waits before it ends
	patience time.Duration     // how long a worker waits for a patched version
	every    bool              // do not merge events, because each raw event counts
	limit    int               // maximum number of objects with workers, including waiting ones; 0: no limit

	beginning sequence // order in which objects with new events begin

	workers sync.WaitGroup
	offers  chan *Queue   // received by workers without objects
	closing chan struct{} // closed when idle workers must end

	mu      sync.Mutex // guards the fields below, and all queues
	objects map[string]*Queue
	awaited map[string]awaited // versions of the operator's patches by object
	ready   []*Queue           // objects with events and without a worker, and those that have vanished
	woken   []*Queue           // objects whose wait is over: they come first
	gone    int                // number of the vanished ones
	busy    int                // number of objects with a worker
	slots   int                // number of objects whose worker waits for nothing
	room    chan struct{}      // closed when fewer are ready; nil: no waiters
	closed  bool               // no event can be added
}

// New makes queues. The limit is the maximum number of objects with workers; 0 means no
// limit.
func New(limit int) *Queues {
	return &Queues{
		limit: limit, objects: map[string]*Queue{}, awaited: map[string]awaited{},
		offers: make(chan *Queue), closing: make(chan struct{}),
	}
}

// Of makes queues with the limits of the settings.
func Of(s *settings.Settings) *Queues {
	qs := New(s.Queueing.WorkerLimit)
	qs.Idle, qs.patience = s.Queueing.IdleTimeout, s.Persistence.ConsistencyTimeout
	return qs
}

// Put adds an event. The object gets a worker when a slot is free. Workers end with the
// context, or when they are idle.
func (qs *Queues) Put(ctx context.Context, it Item) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.closed {
		it.Drop()
		return
	}
	key := it.Meta.Key()
	q, ok := qs.objects[key]
	if !ok {
		q = &Queue{owner: qs, key: key, arrived: make(chan struct{}, 1), ready: true, place: qs.beginning.join()}
		qs.objects[key] = q
		qs.ready = append(qs.ready, q)
	}
	if it.Type == watching.Deleted && q.vanished() {
		it.Drop()
		qs.remove(q)
		return
	}
	it.arrived = time.Now()
	q.add(it, qs.every)
	q.postponed.end()
	qs.dispatch(ctx)
}

// remove drops a ready object. It frees the room in the list of ready objects when half of
// the list is unused.
func (qs *Queues) remove(q *Queue) {
	q.place.over()
	q.pending[0].Drop()
	q.pending = nil
	delete(qs.objects, q.key)
	if qs.gone++; 2*qs.gone > len(qs.ready) {
		ready := make([]*Queue, 0, len(qs.ready)-qs.gone)
		for _, q := range qs.ready {
			if len(q.pending) > 0 {
				ready = append(ready, q)
			}
		}
		qs.ready, qs.gone = ready, 0
	}
	qs.admit()
}

// admit lets a listing continue if fewer objects are ready.
func (qs *Queues) admit() {
	if qs.room != nil && len(qs.ready)-qs.gone < maxReady {
		close(qs.room)
		qs.room = nil
	}
}

// Hold waits while too many objects are ready. It does not wait if a limit of workers is
// set, because workers may wait for changes that come after the listing.
func (qs *Queues) Hold(ctx context.Context) {
	qs.mu.Lock()
	if len(qs.ready)-qs.gone < maxReady || qs.limit > 0 {
		qs.mu.Unlock()
		return
	}
	if qs.room == nil {
		qs.room = make(chan struct{})
	}
	room := qs.room
	qs.mu.Unlock()
	select {
	case <-room:
	case <-ctx.Done():
	}
}

func (qs *Queues) nudge(key string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q, ok := qs.objects[key]; ok {
		q.nudged = true
		q.token()
		q.postponed.end()
	}
}

// Drain ends idle workers at once and waits for busy ones, at most for the patience. Then
// it cancels them, and waits for their end. It returns the number of objects that were
// cancelled.
func (qs *Queues) Drain(cancel context.CancelFunc, patience time.Duration) int {
	qs.mu.Lock()
	qs.closed = true
	close(qs.closing)
	for _, q := range qs.objects {
		q.token()
		q.postponed.end()
	}
	qs.mu.Unlock()
	done := make(chan struct{})
	go func() { // It ends with the workers, which are cancelled below.
		qs.workers.Wait()
		close(done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	qs.mu.Lock()
	left := len(qs.objects)
	qs.mu.Unlock()
	cancel()
	<-done
	for _, p := range qs.forget() {
		p.drop()
	}
	return left
}

// forget drops the events that are no longer handled, and returns what no worker continues.
func (qs *Queues) forget() (left []*postponed) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.objects {
		for _, it := range q.pending {
			qs.give(&it)
			it.Drop()
		}
		if q.postponed != nil {
			left = append(left, q.postponed)
		}
	}
	return left
}

// Undeleted returns the keys of the objects whose deletion still waits. After Drain, nothing handles it.
func (qs *Queues) Undeleted() []string {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	var keys []string
	for key, q := range qs.objects {
		gone := false
		for _, it := range q.pending {
			gone = it.Type == watching.Deleted || gone && it.Lost // it can come back, such as by its labels
		}
		if gone {
			keys = append(keys, key)
		}
	}
	return keys
}

// SetEvery sets whether each raw event counts from now on.
func (qs *Queues) SetEvery(every bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.every = every
}

// Load returns how many events wait, and how many objects have a worker, including those
// that sleep.
func (qs *Queues) Load() (waiting, busy int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.objects {
		waiting += len(q.pending)
	}
	return waiting, qs.busy
}

// Oldest returns when the event began to wait that has waited longest; zero if none waits.
func (qs *Queues) Oldest() time.Time {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	var oldest time.Time
	for _, q := range qs.objects {
		if len(q.pending) > 0 && (oldest.IsZero() || q.pending[0].arrived.Before(oldest)) {
			oldest = q.pending[0].arrived
		}
	}
	return oldest
}

// Taken returns how many objects have a worker that waits for nothing.
func (qs *Queues) Taken() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.slots
}
