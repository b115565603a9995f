package queueing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

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
	sleep   sleep         // of its worker

	postponed *postponed // what the worker continues before the next event; nil: nothing

	lose context.CancelCauseFunc // ends what the worker waits for in Unhurried, with ErrLost; nil: it does not wait
}

// ErrLost means that a wait has ended, because the object belongs to another replica from now on.
var ErrLost = errors.New("the object belongs to another replica")

// vanished reports whether the deletion of an object needs no handling: its creation still
// waits for a worker, and without a body, which cannot be read any more. So the memory of
// objects without bodies is bounded by the objects that exist.
func (q *Queue) vanished() bool {
	return q.ready && q.postponed == nil && len(q.pending) == 1 && q.pending[0].Type == watching.Added && q.pending[0].Bodiless
}

// add appends an event, or replaces the last one if only the newest state matters.
func (q *Queue) add(it Item, every bool) {
	last := len(q.pending) - 1
	if last >= 0 && !every && it.Type == watching.Modified && q.pending[last].Type == watching.Modified {
		q.owner.give(&q.pending[last])
		q.owner.charge(&it)
		it.arrived, it.Early = q.pending[last].arrived, it.Early || q.pending[last].Early
		q.pending[last] = it
	} else if q.owner.charge(&it); !q.shed(it) {
		q.pending = append(q.pending, it)
	}
	q.nudged = false
	q.token()
	if it.Lost && q.lose != nil {
		q.lose(ErrLost)
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

// shed merges a change with the previous one if either waits without its body. The body is
// read when the event is handled, and is then the newest one for both. So the queue of an
// object stays short even if each raw event counts. A change is not merged with what is no event: raw events do not see an object
// that is shown again, and one that the replica may have gained is dropped if the replica has it already.
func (q *Queue) shed(it Item) bool {
	if len(q.pending) == 0 || it.Type != watching.Modified {
		return false
	}
	before := &q.pending[len(q.pending)-1]
	if before.Lost || before.Again || before.Gained > 0 || before.Type == watching.Deleted || !before.Bodiless && !it.Bodiless {
		return false
	}
	q.owner.give(before)
	before.Object, before.Meta, before.charged, before.Bodiless = it.Object, it.Meta, it.charged, it.Bodiless
	return true
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

// Unhurried waits for something that concerns all objects. It frees the worker for other
// objects meanwhile, even if a limit of workers is set. If over is true, nothing is waited
// for and the object keeps its place.
//
// Errors: those of wait; ErrLost.
func (q *Queue) Unhurried(ctx context.Context, over bool, wait func(context.Context) error) error {
	q.offer(ctx)
	if over {
		return nil
	}
	q.Rest()
	q.owner.occupy(ctx, -1)
	defer q.owner.occupy(ctx, 1)
	waiting, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	q.loses(lose)
	defer q.loses(nil)
	err := wait(waiting)
	if errors.Is(context.Cause(waiting), ErrLost) {
		return ErrLost
	}
	return err
}

// loses sets what ends when the object belongs to another replica, which it may already.
func (q *Queue) loses(lose context.CancelCauseFunc) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.lose = lose
	if lose != nil && slices.ContainsFunc(q.pending, func(it Item) bool { return it.Lost }) {
		lose(ErrLost)
	}
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

// token wakes the worker that waits for the queue.
func (q *Queue) token() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// Alone returns the queue of one object whose worker is the caller, with waiting events.
// Tests use it.
func Alone(waiting ...Item) *Queue {
	return &Queue{owner: New(0), arrived: make(chan struct{}, 1), pending: waiting}
}
