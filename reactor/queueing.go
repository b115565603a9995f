package reactor

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// queues hands the events of each object to its handling, one at a time and in
// their order. Objects do not wait for each other, unless there is a limit of
// workers.
//
// # Guarantees
//
//   - Two events of one object are never handled at the same time.
//   - A worker without events ends after the idle timeout.
//   - Changes that follow each other faster than they can be handled are handled
//     as one, so that the queue of an object is bounded, unless somebody wants to
//     see each raw event.
//
// Kopf: kopf._core.reactor.queueing (v1.45).
type queues struct {
	process  func(ctx context.Context, item item, q *queue) (version string)
	idle     time.Duration // after which a worker without events ends
	patience time.Duration // how long a patched version is waited for
	every    bool          // each raw event counts: do not merge them

	slots   chan struct{} // nil: no limit of workers
	workers sync.WaitGroup

	mu      sync.Mutex // guards objects and all queues in it
	objects map[string]*queue
	closed  bool // no new workers
}

// item is one event in a queue.
type item struct {
	watching.Event

	// consistentAt is the time from which on the object is taken as it is, though
	// the version of our last patch has not arrived. Zero: nothing is waited for.
	consistentAt time.Time

	// indexed is called once the object of an initial listing has been indexed. May be nil.
	indexed func()
}

// queue is what waits for one object.
type queue struct {
	owner   *queues
	pending []item
	arrived chan struct{} // has a token when something has been added
	nudged  bool          // the next sleep is over at once
}

func newQueues(limit int) *queues {
	qs := &queues{objects: map[string]*queue{}}
	if limit > 0 {
		qs.slots = make(chan struct{}, limit)
	}
	return qs
}

// put adds an event; a worker is started if the object has none. The workers end
// when the context does, or when they have nothing to do.
func (qs *queues) put(ctx context.Context, it item) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.closed {
		return
	}
	key := it.Meta.Key()
	q, ok := qs.objects[key]
	if !ok {
		q = &queue{owner: qs, arrived: make(chan struct{}, 1)}
		qs.objects[key] = q
		qs.workers.Add(1)
		go qs.work(ctx, key, q) // Waited for by queues.drain.
	}
	q.add(it, qs.every)
}

// add appends an event, or replaces the last one if only the newest state counts.
func (q *queue) add(it item, every bool) {
	last := len(q.pending) - 1
	if last >= 0 && !every && it.Type == watching.Modified && q.pending[last].Type == watching.Modified {
		q.pending[last] = it
	} else {
		q.pending = append(q.pending, it)
	}
	q.nudged = false
	q.token()
}

// work handles the events of one object until there are none for a while.
func (qs *queues) work(ctx context.Context, key string, q *queue) {
	defer qs.workers.Done()
	if qs.slots != nil {
		select {
		case qs.slots <- struct{}{}:
			defer func() { <-qs.slots }()
		case <-ctx.Done():
			qs.retire(ctx, key, q)
			return
		}
	}
	var expected string // the version of our last patch, until it arrives
	var consistentAt time.Time
	for {
		it, ok := q.next(ctx, max(qs.idle, time.Until(consistentAt)))
		if !ok {
			if qs.retire(ctx, key, q) {
				return
			}
			continue
		}
		if expected != "" && reached(it.Meta.ResourceVersion, expected) {
			expected, consistentAt = "", time.Time{}
		}
		it.consistentAt = consistentAt
		if version := qs.process(ctx, it, q); version != "" && qs.patience > 0 {
			expected, consistentAt = version, time.Now().Add(qs.patience)
		}
	}
}

// unhurried waits for something that concerns all objects, without keeping the
// place of a worker from them.
func (qs *queues) unhurried(ctx context.Context, wait func(context.Context) error) error {
	if qs.slots == nil {
		return wait(ctx)
	}
	<-qs.slots
	err := wait(ctx)
	qs.slots <- struct{}{}
	return err
}

// reached tells whether a version is the expected one or a later one.
func reached(version, expected string) bool {
	if version == expected {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(version, expected)
	return err == nil && order > 0
}

// next takes the next event, or waits for it.
func (q *queue) next(ctx context.Context, patience time.Duration) (item, bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		it, ok, closed := q.take()
		if ok || closed {
			return it, ok
		}
		select {
		case <-q.arrived:
		case <-timer.C:
			return item{}, false
		case <-ctx.Done():
			return item{}, false
		}
	}
}

// take takes the next event if there is one; closed says that none will come.
func (q *queue) take() (it item, ok, closed bool) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	if len(q.pending) == 0 {
		return item{}, false, q.owner.closed
	}
	it = q.pending[0]
	q.pending = q.pending[1:]
	if len(q.pending) == 0 {
		q.pending = nil // lets the old array go
	}
	return it, true, false
}

// retire removes an idle queue, unless something has arrived in between.
func (qs *queues) retire(ctx context.Context, key string, q *queue) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(q.pending) > 0 && ctx.Err() == nil {
		return false
	}
	delete(qs.objects, key)
	return true
}

// sleep waits for a time, unless new events of the object arrive or the context
// ends. It returns what is left of the time, zero if it was slept in full.
func (q *queue) sleep(ctx context.Context, d time.Duration) time.Duration {
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
func (q *queue) pressed() (pressed, nudged bool) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	nudged, q.nudged = q.nudged, false
	return len(q.pending) > 0 || q.owner.closed, nudged
}

// nudge ends the current sleep as if its time was over.
func (q *queue) nudge() {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.nudged = true
	q.token()
}

// token wakes whoever waits for the queue.
func (q *queue) token() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// drain lets idle workers end at once and waits for the busy ones, at most for
// the given time; then it cancels them, and waits for that. It returns the number
// of objects that were cancelled.
func (qs *queues) drain(cancel context.CancelFunc, patience time.Duration) int {
	qs.mu.Lock()
	qs.closed = true
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
	return left
}
