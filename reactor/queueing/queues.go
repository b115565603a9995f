package queueing

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
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
	gone    int                // number of the vanished ones
	busy    int                // number of objects with a worker
	slots   int                // number of objects whose worker waits for nothing
	room    chan struct{}      // closed when fewer are ready; nil: no waiters
	closed  bool               // no event can be added
}

// Item is one event in a queue.
type Item struct {
	watching.Event

	// ConsistentAt is the time from which the known state counts as consistent, even if the
	// version of the last patch has not arrived. Zero: no version is expected.
	ConsistentAt time.Time

	// Indexed is called after the object of an initial listing has been indexed. It may be
	// nil.
	Indexed func()

	// Again means that the handlers have changed, not the object.
	Again bool

	charged  int  // bytes in the account while the item waits
	Bodiless bool // the body must be read again, because the account has refused it
}

// itemCost is the approximate memory of an item in addition to its body, in bytes.
const itemCost = 512

// Drop calls the hooks of an item that is not handled.
func (it Item) Drop() {
	if it.Indexed != nil {
		it.Indexed()
	}
}

// awaited is the version of the last patch, until it arrives or its deadline passes.
type awaited struct {
	version      string
	consistentAt time.Time
}

// Queue holds the waiting events of one object.
type Queue struct {
	owner   *Queues
	key     string
	pending []Item
	arrived chan struct{} // has a token when an item has been added
	ready   bool          // it waits for a worker
	nudged  bool          // the next sleep ends at once
	hasSlot bool          // its worker waits for nothing
	place   *place        // of its worker; set before the worker exists, then by the worker alone
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
	q.add(it, qs.every)
	qs.dispatch(ctx)
}

// vanished reports whether the deletion of an object needs no handling: its creation still
// waits for a worker, and without a body, which cannot be read any more. So the memory of
// objects without bodies is bounded by the objects that exist.
func (q *Queue) vanished() bool {
	return q.ready && len(q.pending) == 1 && q.pending[0].Type == watching.Added && q.pending[0].Bodiless
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

// add appends an event, or replaces the last one if only the newest state matters.
func (q *Queue) add(it Item, every bool) {
	last := len(q.pending) - 1
	if last >= 0 && !every && it.Type == watching.Modified && q.pending[last].Type == watching.Modified {
		q.owner.give(&q.pending[last])
		q.owner.charge(&it)
		q.pending[last] = it
	} else if q.owner.charge(&it); !q.shed(it) {
		q.pending = append(q.pending, it)
	}
	q.nudged = false
	q.token()
}

// charge counts the body of a waiting event in the account. If the account refuses it, the
// event waits without its body.
func (qs *Queues) charge(it *Item) {
	size := itemCost + len(it.Object)
	if qs.Account.Take(accounts.Pending, size) == nil {
		it.charged = size
	} else {
		it.Object, it.Bodiless = nil, true
	}
}

// Charge counts the body of an event that was read again, as if the event still waited. If
// the account refuses it, the event is without its body again.
func (q *Queue) Charge(it *Item) { q.owner.charge(it) }

// HasRoom reports whether the account would take a body of this size now.
func (q *Queue) HasRoom(size int) bool {
	if q.owner.Account.Take(accounts.Pending, itemCost+size) != nil {
		return false
	}
	q.owner.Account.Give(accounts.Pending, itemCost+size)
	return true
}

// Give ends what Charge has counted.
func (q *Queue) Give(it *Item) { q.owner.give(it) }

// give returns the memory of an item to the account.
func (qs *Queues) give(it *Item) {
	qs.Account.Give(accounts.Pending, it.charged)
	it.charged = 0
}

// shed merges a change with the previous one if either waits without its body. The body is
// read when the event is handled, and is then the newest one for both. So the queue of an
// object stays short even if each raw event counts.
func (q *Queue) shed(it Item) bool {
	if len(q.pending) == 0 || it.Type != watching.Modified {
		return false
	}
	before := &q.pending[len(q.pending)-1]
	if before.Type == watching.Deleted || !before.Bodiless && !it.Bodiless {
		return false
	}
	q.owner.give(before)
	before.Object, before.Meta, before.charged, before.Bodiless = it.Object, it.Meta, it.charged, it.Bodiless
	return true
}

// dispatch gives slots and workers to ready objects. It starts a worker if none is idle.
func (qs *Queues) dispatch(ctx context.Context) {
	for q := qs.assign(ctx); q != nil; q = qs.assign(ctx) {
		select {
		case qs.offers <- q:
		default:
			qs.workers.Go(func() { qs.work(ctx, q) }) // Drain waits for it.
		}
	}
}

// assign gives a slot to the next object, if the limits allow it.
func (qs *Queues) assign(ctx context.Context) *Queue {
	if ctx.Err() != nil || qs.slots >= maxSlots || qs.limit > 0 && qs.busy >= qs.limit {
		return nil
	}
	q := qs.pop()
	for ; q != nil && len(q.pending) == 0; q = qs.pop() {
		qs.gone--
	}
	if q == nil {
		return nil
	}
	qs.admit()
	q.ready, q.hasSlot = false, true
	qs.slots++
	qs.busy++
	return q
}

// pop takes the first of the ready objects; nil if there is none.
func (qs *Queues) pop() *Queue {
	if len(qs.ready) == 0 {
		return nil
	}
	q := qs.ready[0]
	qs.ready[0] = nil
	if qs.ready = qs.ready[1:]; len(qs.ready) == 0 {
		qs.ready = nil // frees the old array
	}
	return q
}

// Leave gives up the slot and the place of an object while its worker waits. The worker
// does not take a slot again, so a worker that holds a lock never waits for a slot.
func (q *Queue) Leave(ctx context.Context) {
	if q == nil {
		return
	}
	q.Rest()
	q.offer(ctx)
}

// Rest lets the next object begin. The object keeps its slot.
func (q *Queue) Rest() {
	if q != nil {
		q.place.over()
	}
}

// Hooks returns the hooks for a request of the worker. The next object begins when the
// request is sent, and gets the slot before a pause.
func (q *Queue) Hooks(ctx context.Context) clients.Hooks {
	return clients.Hooks{Sent: q.Rest, Pausing: func() { q.Leave(ctx) }}
}

// offer gives up the slot.
func (q *Queue) offer(ctx context.Context) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.stand()
	q.owner.dispatch(ctx)
}

func (q *Queue) stand() {
	if q.hasSlot {
		q.hasSlot = false
		q.owner.slots--
	}
}

// work handles events of one object after another, until it has been idle for a while.
func (qs *Queues) work(ctx context.Context, q *Queue) {
	for q != nil {
		qs.handle(ctx, q)
		if q = qs.next(ctx, q); q != nil {
			continue
		}
		timer := time.NewTimer(qs.Idle)
		select {
		case q = <-qs.offers:
		case <-timer.C:
		case <-qs.closing:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// handle handles the next event of an object.
func (qs *Queues) handle(ctx context.Context, q *Queue) {
	it := qs.take(q)
	defer qs.give(&it) // handlers may wait for long, so what they keep counts, too
	q.place.wait(ctx)
	defer q.Rest()
	version := qs.Process(ctx, it, q)
	qs.mu.Lock()
	defer qs.mu.Unlock()
	switch {
	case version != "" && qs.patience > 0:
		qs.awaited[q.key] = awaited{version, time.Now().Add(qs.patience)}
	case it.Type == watching.Deleted:
		delete(qs.awaited, q.key)
	}
}

// take removes the next event of an object from its queue.
func (qs *Queues) take(q *Queue) Item {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	it := q.pending[0]
	q.pending[0] = Item{} // frees the body
	if q.pending = q.pending[1:]; len(q.pending) == 0 {
		q.pending = nil // frees the old array
	}
	if a, ok := qs.awaited[q.key]; ok {
		if reached(it.Meta.ResourceVersion, a.version) || time.Since(a.consistentAt) > qs.Idle {
			delete(qs.awaited, q.key)
		} else {
			it.ConsistentAt = a.consistentAt
		}
	}
	return it
}

// next ends the work on an object for now, and gives a slot to the next object.
func (qs *Queues) next(ctx context.Context, q *Queue) *Queue {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q.stand()
	qs.busy--
	if len(q.pending) > 0 {
		q.ready, q.place = true, qs.beginning.join()
		qs.ready = append(qs.ready, q)
	} else {
		delete(qs.objects, q.key)
	}
	mine := qs.assign(ctx)
	qs.dispatch(ctx)
	return mine
}

// Unhurried waits for something that concerns all objects. It frees the worker for other
// objects meanwhile, even if a limit of workers is set. If over is true, nothing is waited
// for and the object keeps its place.
func (q *Queue) Unhurried(ctx context.Context, over bool, wait func(context.Context) error) error {
	q.offer(ctx)
	if over {
		return nil
	}
	q.Rest()
	q.owner.occupy(ctx, -1)
	defer q.owner.occupy(ctx, 1)
	return wait(ctx)
}

func (qs *Queues) occupy(ctx context.Context, places int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.busy += places
	qs.dispatch(ctx)
}

// reached reports whether a version is the expected one or a later one.
func reached(version, expected string) bool {
	if version == expected {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(version, expected)
	return err == nil && order > 0
}

// Sleep waits for d, or until a new event of the object arrives or the context ends. It
// returns the remaining time; zero after a full sleep.
func (q *Queue) Sleep(ctx context.Context, d time.Duration) time.Duration {
	if d > 0 {
		q.Leave(ctx)
	}
	deadline := time.Now().Add(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		switch pressed, nudged := q.pressed(); {
		case pressed:
			return max(time.Until(deadline), time.Nanosecond)
		case nudged:
			return 0
		}
		select {
		case <-q.arrived:
		case <-timer.C:
			return 0
		case <-ctx.Done():
			return max(time.Until(deadline), time.Nanosecond)
		}
	}
}

// pressed reports whether a sleep must not begin: newer events of the object wait, the
// operator exits, or the worker was nudged.
func (q *Queue) pressed() (pressed, nudged bool) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	nudged, q.nudged = q.nudged, false
	return len(q.pending) > 0 || q.owner.closed, nudged
}

// Nudger returns a function that ends the sleep of the object's current worker as if its
// time was over. The function does not keep the queue in memory.
func (q *Queue) Nudger() func() {
	owner, key := q.owner, q.key
	return func() { owner.nudge(key) }
}

func (qs *Queues) nudge(key string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q, ok := qs.objects[key]; ok {
		q.nudged = true
		q.token()
	}
}

// token wakes the worker that waits for the queue.
func (q *Queue) token() {
	select {
	case q.arrived <- struct{}{}:
	default:
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
	qs.forget()
	return left
}

// forget drops the events that are no longer handled.
func (qs *Queues) forget() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.objects {
		for _, it := range q.pending {
			qs.give(&it)
			it.Drop()
		}
	}
}

// All sets whether each raw event counts from now on.
func (qs *Queues) All(every bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.every = every
}

// Alone returns the queue of one object whose worker is the caller, with waiting events.
// Tests use it.
func Alone(waiting ...Item) *Queue {
	return &Queue{owner: New(0), arrived: make(chan struct{}, 1), pending: waiting}
}

// Taken returns how many objects have a worker that waits for nothing.
func (qs *Queues) Taken() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.slots
}
