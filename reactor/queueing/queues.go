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

// maxSlots bounds the objects that are worked on at once. More of them would not be
// faster: guests have the cores, and the API server takes clients.MaxWrites patches
// at once; but each takes memory. A worker that waits for something else gives its slot up.
const maxSlots = 4 * clients.MaxWrites

// maxReady is how many objects of a listing may be ready before its next page is
// read: so large listings are not held in memory.
const maxReady = 4 * maxSlots

// Queues hands the events of each object to its handling, one at a time and in
// their order. Objects do not wait for each other, unless there is a limit of
// workers.
//
// # Guarantees
//
//   - Two events of one object are never handled at the same time.
//   - Objects get workers in the order of their events; one without events has none.
//   - Changes that follow each other faster than they can be handled are handled
//     as one, so that the queue of an object is bounded, unless somebody wants to
//     see each raw event.
//   - If the bodies that wait are over the limit PendingMemory, changes are handled as
//     one even then, and without their bodies. No object is lost: see shed.
//
// Kopf: kopf._core.reactor.queueing (v1.45), where each object has a worker of its own.
type Queues struct {
	Process  func(ctx context.Context, item Item, q *Queue) (version string)
	Account  *accounts.Account // for the bodies that wait
	Idle     time.Duration     // after which a worker without objects ends
	patience time.Duration     // how long a patched version is waited for
	every    bool              // each raw event counts: do not merge them
	limit    int               // of objects with workers, even if they wait; 0: none

	beginning sequence // of the objects with new events

	workers sync.WaitGroup
	offers  chan *Queue   // taken by workers without objects
	closing chan struct{} // closed when these are to end

	mu      sync.Mutex // guards all below, and all queues
	objects map[string]*Queue
	awaited map[string]awaited // versions of our patches, by objects
	ready   []*Queue           // those with events and without a worker
	busy    int                // those with a worker
	slots   int                // those with a worker that does not wait for anything
	room    chan struct{}      // closed when fewer are ready; nil: nobody waits for it
	closed  bool               // nothing is put in anymore
}

// Item is one event in a queue.
type Item struct {
	watching.Event

	// ConsistentAt is the time from which on the object is taken as it is, though
	// the version of our last patch has not arrived. Zero: nothing is waited for.
	ConsistentAt time.Time

	// Indexed is called once the object of an initial listing has been indexed. May be nil.
	Indexed func()

	// Again says that nothing has happened to the object, but to its handlers.
	Again bool

	charged  int  // bytes in the account while it waits
	Bodiless bool // the body is to be read again: the account has refused it
}

// itemCost is about what an item takes besides its body, in bytes.
const itemCost = 512

// Drop ends the waits for an item that is not handled.
func (it Item) Drop() {
	if it.Indexed != nil {
		it.Indexed()
	}
}

// awaited is the version of our last patch, until it arrives or it is too late.
type awaited struct {
	version      string
	consistentAt time.Time
}

// Queue is what waits for one object.
type Queue struct {
	owner   *Queues
	key     string
	pending []Item
	arrived chan struct{} // has a token when something has been added
	nudged  bool          // the next sleep is over at once
	hasSlot bool          // has a worker that does not wait for anything
	place   *place        // of its worker; written before there is one, then by it alone
}

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

// Put adds an event; the object gets a worker as soon as there is a slot. The
// workers end when the context does, or when they have nothing to do.
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
		q = &Queue{owner: qs, key: key, arrived: make(chan struct{}, 1), place: qs.beginning.join()}
		qs.objects[key] = q
		qs.ready = append(qs.ready, q)
	}
	q.add(it, qs.every)
	qs.dispatch(ctx)
}

// Hold waits until not too many objects are ready. With a limit of workers it does
// not, since those may wait for changes that come after the listing.
func (qs *Queues) Hold(ctx context.Context) {
	qs.mu.Lock()
	if len(qs.ready) < maxReady || qs.limit > 0 {
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

// add appends an event, or replaces the last one if only the newest state counts.
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

// charge counts the body of an event that is to wait. If it is refused, the event waits
// without it.
func (qs *Queues) charge(it *Item) {
	size := itemCost + len(it.Object)
	if qs.Account.Take(accounts.Pending, size) == nil {
		it.charged = size
	} else {
		it.Object, it.Bodiless = nil, true
	}
}

// give gives back what was charged.
func (qs *Queues) give(it *Item) {
	qs.Account.Give(accounts.Pending, it.charged)
	it.charged = 0
}

// shed makes one event of a change and the one before if either of them waits without
// its body: that is read when its place comes, and will be the newest one for both. So
// the queue of an object stays short even if each raw event counts.
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

// dispatch gives slots to objects that are ready, and workers: free ones, or new ones.
func (qs *Queues) dispatch(ctx context.Context) {
	for q := qs.assign(ctx); q != nil; q = qs.assign(ctx) {
		select {
		case qs.offers <- q:
		default:
			qs.workers.Go(func() { qs.work(ctx, q) }) // Waited for by Drain.
		}
	}
}

// assign gives a slot to the next object, if there is any and the limits allow it.
func (qs *Queues) assign(ctx context.Context) *Queue {
	if len(qs.ready) == 0 || ctx.Err() != nil || qs.slots >= maxSlots || qs.limit > 0 && qs.busy >= qs.limit {
		return nil
	}
	q := qs.ready[0]
	qs.ready[0] = nil
	if qs.ready = qs.ready[1:]; len(qs.ready) == 0 {
		qs.ready = nil // lets the old array go
	}
	if qs.room != nil && len(qs.ready) < maxReady {
		close(qs.room)
		qs.room = nil
	}
	q.hasSlot = true
	qs.slots++
	qs.busy++
	return q
}

// Leave gives up the slot of an object, and its place, while its worker waits for
// time or for others. The worker does not take a slot again: so a worker that holds
// anything never waits for a slot.
func (q *Queue) Leave(ctx context.Context) {
	if q == nil {
		return
	}
	q.Rest()
	q.offer(ctx)
}

// Rest lets the next object begin; the slot is kept.
func (q *Queue) Rest() {
	if q != nil {
		q.place.over()
	}
}

// Hooks are those of a request of the worker: the next object begins when it is sent, and
// gets the slot before a pause.
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

// work handles an event of one object after the other, until there are none for a
// while.
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

// take takes the next event of an object.
func (qs *Queues) take(q *Queue) Item {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	it := q.pending[0]
	qs.give(&it)
	q.pending[0] = Item{} // lets the body go
	if q.pending = q.pending[1:]; len(q.pending) == 0 {
		q.pending = nil // lets the old array go
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

// next ends the work on an object for now, and gives a slot to the one that is next.
func (qs *Queues) next(ctx context.Context, q *Queue) *Queue {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q.stand()
	qs.busy--
	if len(q.pending) > 0 {
		q.place = qs.beginning.join()
		qs.ready = append(qs.ready, q)
	} else {
		delete(qs.objects, q.key)
	}
	mine := qs.assign(ctx)
	qs.dispatch(ctx)
	return mine
}

// Unhurried waits for something that concerns all objects, without keeping the
// place of a worker from them, even if there is a limit. If there is nothing to wait
// for, the object keeps its place.
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

// reached tells whether a version is the expected one or a later one.
func reached(version, expected string) bool {
	if version == expected {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(version, expected)
	return err == nil && order > 0
}

// Sleep waits for a time, unless new events of the object arrive or the context
// ends. It returns what is left of the time, zero if it was slept in full.
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

// pressed tells whether there is no time to sleep: newer events of the object
// wait already, or the operator exits; or no need to: somebody has nudged.
func (q *Queue) pressed() (pressed, nudged bool) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	nudged, q.nudged = q.nudged, false
	return len(q.pending) > 0 || q.owner.closed, nudged
}

// Nudger returns what ends the sleep of the worker of the object as if its time was over,
// whatever worker that is by then. It does not keep the queue.
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

// Drain lets idle workers end at once and waits for the busy ones, at most for
// the given time; then it cancels them, and waits for that. It returns the number
// of objects that were cancelled.
func (qs *Queues) Drain(cancel context.CancelFunc, patience time.Duration) int {
	qs.mu.Lock()
	qs.closed = true
	close(qs.closing)
	for _, q := range qs.objects {
		q.token()
	}
	qs.mu.Unlock()
	done := make(chan struct{})
	go func() { // Ends when the workers have: they get the cancellation below.
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

// forget drops the events that will not be handled any more.
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

// All says whether each raw event counts from now on.
func (qs *Queues) All(every bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.every = every
}

// Alone is the queue of one object whose worker is the caller, with events that wait: for
// what handles events of its own accord, such as tests.
func Alone(waiting ...Item) *Queue {
	return &Queue{owner: New(0), arrived: make(chan struct{}, 1), pending: waiting}
}

// Taken is how many objects have a worker that does not wait for anything.
func (qs *Queues) Taken() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.slots
}
