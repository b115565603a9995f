package queueing

import (
	"context"
	"runtime"
	"time"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// awaited is the version of the last patch, until it arrives or its deadline passes.
type awaited struct {
	version      string
	consistentAt time.Time
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
	for ; q != nil && len(q.pending) == 0 && q.postponed == nil; q = qs.pop() {
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
	from := &qs.ready
	if len(qs.woken) > 0 {
		from = &qs.woken
	}
	if len(*from) == 0 {
		return nil
	}
	q := (*from)[0]
	(*from)[0] = nil
	if *from = (*from)[1:]; len(*from) == 0 {
		*from = nil // frees the old array
	}
	return q
}

// work handles events of one object after another, until it has been idle for a while.
func (qs *Queues) work(ctx context.Context, q *Queue) {
	for q != nil {
		qs.handle(ctx, q)
		if q = qs.next(ctx, q); q == nil {
			q = qs.idle(ctx)
		}
	}
}

// idleRoom is the part of the stack that an idle worker uses, in bytes. The garbage collector halves a stack of which less
// than a quarter is in use, but the next event needs its 16 KiB again: to copy the frames of the worker then took a
// twentieth of the computing time of a burst.
const idleRoom = 16<<10/4 - 800 // the collector adds 800 to what is in use

// idle waits for the next object for a while; nil: there was none.
func (qs *Queues) idle(ctx context.Context) (q *Queue) {
	var room [idleRoom]byte
	timer := time.NewTimer(qs.Idle)
	select {
	case q = <-qs.offers:
	case <-timer.C:
	case <-qs.closing:
	case <-ctx.Done():
	}
	timer.Stop()
	runtime.KeepAlive(&room)
	return q
}

// handle handles the next event of an object, or continues after a wait.
func (qs *Queues) handle(ctx context.Context, q *Queue) {
	if then, left := q.postponed.resume(); then != nil {
		qs.await(q.key, then(ctx, left, q))
		return
	}
	it := qs.take(q)
	defer qs.give(&it) // handlers may wait for long, so what they keep counts, too
	q.place.wait(ctx)
	defer q.Rest()
	version := qs.Process(ctx, it, q)
	if qs.await(q.key, version); version == "" && it.Type == watching.Deleted {
		qs.mu.Lock()
		defer qs.mu.Unlock()
		delete(qs.awaited, q.key)
	}
}

// await notes the version of a patch; empty: there was none.
func (qs *Queues) await(key, version string) {
	if version == "" {
		return
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.awaited[key] = awaited{version, time.Now().Add(qs.patience)}
}

// take removes the next event of an object from its queue.
func (qs *Queues) take(q *Queue) Item {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	it := q.pending[0]
	q.pending[0] = Item{} // frees the body
	qs.Waits.Observe(time.Since(it.arrived))
	if q.pending = q.pending[1:]; len(q.pending) == 0 {
		q.pending = nil // frees the old array
	}
	if a, ok := qs.awaited[q.key]; ok {
		it.Awaited = a.version
		switch {
		case reached(it.Meta.ResourceVersion, a.version) || time.Since(a.consistentAt) > qs.Idle:
			delete(qs.awaited, q.key)
		case qs.patience > 0:
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
	if !q.postponed.begin(ctx) {
		qs.leave(q)
	}
	mine := qs.assign(ctx)
	qs.dispatch(ctx)
	return mine
}

// leave takes the worker from an object. The object gets one again if there is more to do.
func (qs *Queues) leave(q *Queue) {
	qs.busy--
	switch {
	case q.postponed != nil: // it has begun before others
		q.ready = true
		qs.woken = append(qs.woken, q)
	case len(q.pending) > 0:
		q.ready, q.place = true, qs.beginning.join()
		qs.ready = append(qs.ready, q)
	default:
		delete(qs.objects, q.key)
	}
}

func (qs *Queues) occupy(ctx context.Context, places int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.busy += places
	qs.dispatch(ctx)
}

// reached reports whether a version is the expected one or a later one.
func reached(version, expected string) bool {
	return version == expected || watching.IsLater(version, expected)
}
