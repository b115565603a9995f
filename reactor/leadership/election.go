package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// ErrLost means that this replica is not the leader, or cannot be certain that it still is.
var ErrLost = errors.New("this replica is not the leader any more")

// Store keeps the Lease.
type Store interface {
	// Read returns the Lease. A Lease that does not exist has no Version.
	Read(ctx context.Context) (Lease, error)

	// Write creates a Lease without a Version, and replaces the one with the Version. It returns
	// the new state.
	//
	// Errors: ErrConflict, if the Lease has another version, exists or does not exist.
	Write(ctx context.Context, lease Lease) (Lease, error)
}

// ErrConflict means that the Lease has changed.
var ErrConflict = errors.New("the lease has changed")

// Election is the part of one replica in the election of the leader.
type Election struct {
	Store    Store
	Identity string // differs for each process
	Terms    Terms
	Log      func(text string) // what happens, in sentences

	// Own means that the Lease is of this process alone: its name is new, so that no former
	// holder can exist.
	Own bool

	// Note returns what the leader notes on the Lease, from what is noted there. Nil: nothing
	// changes.
	Note func(stored string) string

	// Noted gets the note of the Lease whenever it was read or written. It must not block. If it is
	// nil, a Lease with a note belongs to replicas that share the objects, and is never free.
	Noted func(note string)

	// Wake makes the leader renew the Lease at once. It may be nil.
	Wake <-chan struct{}

	seen    sight                     // what is known of the Lease; only Run uses it
	outage  Outage                    // of the requests about the Lease; only Run uses it
	renewal atomic.Pointer[time.Time] // the begin of the last successful one; nil: not the leader
	leader  atomic.Pointer[string]    // as it was last seen
}

// sight is a state of the Lease, and when this replica saw it first.
type sight struct {
	lease Lease
	at    time.Time // zero: nothing has been seen
}

// Standing returns the identity of the leader as it was last seen, and whether this replica is the leader.
func (e *Election) Standing() (leader string, leads bool) {
	if l := e.leader.Load(); l != nil {
		leader = *l
	}
	return leader, leader == e.Identity && e.renewal.Load() != nil
}

// Hold returns until when this replica is certainly the only leader. What it does as the leader has to begin and
// end before.
//
// Errors: ErrLost.
func (e *Election) Hold() (until time.Time, err error) {
	begun := e.renewal.Load()
	if begun == nil {
		return time.Time{}, ErrLost
	}
	left := e.Terms.Renewal - elapsed(*begun)
	if left <= 0 {
		return time.Time{}, ErrLost
	}
	return time.Now().Add(left), nil
}

// Run waits until this replica is the leader, calls lead, which must not block, and stays the leader until the
// context ends.
//
// Errors: ErrLost, if it cannot stay the leader. It returns nil when the context ends.
func (e *Election) Run(ctx context.Context, lead func()) error {
	for !e.campaign(ctx) {
		if backoffs.Pause(ctx, e.Terms.Look) != nil {
			return nil
		}
	}
	lead()
	for pause := e.Terms.Retry; e.pause(ctx, pause) == nil; {
		var err error
		if pause, err = e.renew(ctx); err != nil {
			e.renewal.Store(nil)
			return err
		}
	}
	return nil
}

// pause waits for the next renewal.
func (e *Election) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.Wake:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Release gives the Lease up, so that another replica can be the leader at once. All that this replica
// does as the leader must have ended.
func (e *Election) Release(ctx context.Context) error {
	_, lost := e.Hold()
	e.renewal.Store(nil)
	if lost != nil {
		return nil // there is nothing to give up
	}
	_, err := e.Store.Write(ctx, e.seen.lease.released())
	if !errors.Is(err, ErrConflict) {
		return err
	}
	lease, err := e.Store.Read(ctx) // the answer to the last renewal may be missing
	if err != nil || lease.Holder != e.Identity {
		return err
	}
	if _, err = e.Store.Write(ctx, lease.released()); errors.Is(err, ErrConflict) {
		return nil // others are at work
	}
	return err
}

// campaign looks at the Lease once, and takes it if it is free. It returns whether this replica is the leader.
func (e *Election) campaign(ctx context.Context) bool {
	lease, err := e.Store.Read(ctx)
	if err != nil {
		e.trouble(ctx, "read", err)
		return false
	}
	e.look(lease)
	if !e.free() {
		e.reached()
		return false
	}
	begun := time.Now()
	written, err := e.Store.Write(ctx, e.noted(lease.takenBy(e.Identity, e.Terms, begun)))
	if err != nil && !errors.Is(err, ErrConflict) {
		e.trouble(ctx, "taken", err)
		return false
	}
	e.reached()
	if err != nil {
		return false // another replica was faster
	}
	e.hold(begun, written)
	if !e.Own {
		e.Log(fmt.Sprintf("This replica is the leader now: %s.", e.Identity))
	}
	return true
}

// look remembers what is known of the Lease, and says what is new.
func (e *Election) look(lease Lease) {
	if !e.seen.at.IsZero() && e.seen.lease.Version == lease.Version {
		return
	}
	before, first := e.seen.lease, e.seen.at.IsZero()
	e.seen = sight{lease, time.Now()}
	e.leader.Store(&lease.Holder)
	e.tell(lease)
	switch {
	case e.Own:
	case e.isForeign():
		e.Log("The lease is of replicas that share the objects. This replica waits until the lease is deleted.")
	case lease.Version == "":
		e.Log(fmt.Sprintf("The lease does not exist. It is made in %v, because there may be a leader whose lease was deleted.", e.Terms.Duration))
	case lease.Holder != "" && lease.Holder != e.Identity && (first || before.Holder != lease.Holder):
		e.Log(fmt.Sprintf("The leader is %s. This replica waits.", lease.Holder))
	}
}

// free reports whether there is certainly no other leader.
func (e *Election) free() bool {
	if e.isForeign() {
		return false
	}
	if e.Own && e.seen.lease.Version == "" {
		return true
	}
	// The monotonic clock alone counts: a wall clock that was set makes no Lease free.
	return e.seen.lease.Holder == e.Identity || time.Since(e.seen.at) >= e.seen.lease.claim(e.Terms)
}

// isForeign reports whether the Lease belongs to replicas of the other mode.
func (e *Election) isForeign() bool { return e.Noted == nil && !e.Own && e.seen.lease.Note != "" }

// noted returns the Lease with the note of the leader.
func (e *Election) noted(lease Lease) Lease {
	if e.Note != nil {
		lease.Note = e.Note(lease.Note)
	}
	return lease
}

// tell passes on the note of a Lease that exists.
func (e *Election) tell(lease Lease) {
	if e.Noted != nil && lease.Version != "" {
		e.Noted(lease.Note)
	}
}

// renew renews the Lease of the leader. It returns the time until the next renewal.
//
// Errors: ErrLost.
func (e *Election) renew(ctx context.Context) (time.Duration, error) {
	until, err := e.Hold()
	if err != nil {
		return 0, fmt.Errorf("%w: the lease could not be renewed in %v", err, e.Terms.Renewal)
	}
	trying, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	begun := time.Now()
	written, err := e.Store.Write(trying, e.noted(e.seen.lease.renewed(e.Identity, e.Terms, begun)))
	if errors.Is(err, ErrConflict) {
		return e.Terms.Look, e.reclaim(trying)
	}
	if err != nil {
		e.trouble(ctx, "renewed", err)
		return min(e.Terms.Look, time.Until(until)), nil
	}
	e.reached()
	e.hold(begun, written)
	return e.Terms.Retry, nil
}

// reclaim finds out who has changed the Lease of the leader. If it was no other replica, the next renewal makes the Lease
// what it was.
func (e *Election) reclaim(ctx context.Context) error {
	lease, err := e.Store.Read(ctx)
	if err != nil {
		e.trouble(ctx, "read", err)
		return nil // Hold ends the repetition
	}
	if lease.Holder != "" && lease.Holder != e.Identity {
		e.look(lease)
		return fmt.Errorf("%w: the lease is held by %s", ErrLost, lease.Holder)
	}
	if lease.Holder == "" {
		e.Log("The lease of the leader was deleted or cleared. It is made again.")
	}
	e.seen.lease = lease
	e.tell(lease)
	return nil
}

// hold notes a renewal that began at a time.
func (e *Election) hold(begun time.Time, written Lease) {
	e.seen = sight{written, time.Now()}
	e.renewal.Store(&begun)
	e.leader.Store(&e.Identity)
	e.tell(written)
}

// trouble says that requests fail, and why the first one does.
func (e *Election) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && e.outage.Changed(err) {
		e.Log(fmt.Sprintf("The lease could not be %s, which is tried again: %v", what, err))
	}
}

// reached says that requests succeed again.
func (e *Election) reached() {
	if e.outage.Changed(nil) {
		e.Log("The lease is reached again.")
	}
}
