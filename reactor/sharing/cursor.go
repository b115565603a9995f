package sharing

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// cursor is the position of one subscriber in the log of a feed.
type cursor struct {
	feed     *feed
	up       *upstream
	right    *right // what the subscriber may see
	active   func()
	interest *interests.Interest

	known string // the version that the subscriber knows: of its listing, or of its last event

	// The feed's mutex guards the fields below.
	from    string              // the version that it continues from; empty: all events are later
	pending []uint64            // numbers of the events that wait for the subscriber
	passed  string              // the version before the first of them
	labels  []filters.Label     // by which the audience finds the subscriber
	follows map[string]struct{} // objects that concern it, by Meta.Key; used in join only
	round   uint64              // of the audience
	closed  bool
	sleep   sleep
}

// sleep is the state of a subscriber that waits without a goroutine: see Poll.
type sleep struct {
	wake   func()      // nil: the subscriber does not wait
	due    *time.Timer // calls rouse when the right must be confirmed; nil: the subscriber has never waited
	unbind func() bool // ends that the context of the watch calls rouse
}

// end ends it for ever.
func (s *sleep) end() {
	s.wake = nil
	if s.due != nil {
		s.due.Stop()
		s.unbind()
	}
}

// Next waits for the next event, and returns it. The last one is a bookmark, if events have
// passed that do not concern the subscriber.
//
// Errors: io.EOF when the connection has ended, the log has passed the subscriber by, or its
// account may no longer see the objects; watching.ErrExpired; those of the connection.
func (c *cursor) Next(ctx context.Context) (watching.Event, error) {
	for {
		woken := make(chan struct{})
		event, waits, err := c.Poll(ctx, func() { close(woken) })
		if !waits {
			return event, err
		}
		<-woken
	}
}

// Poll implements watching.Idle.
func (c *cursor) Poll(ctx context.Context, wake func()) (event watching.Event, waits bool, err error) {
	if ctx.Err() != nil {
		event, err = c.leave(io.EOF)
		return event, false, err
	}
	if !c.right.holds(ctx) {
		return watching.Event{}, false, io.EOF
	}
	switch event, err = c.take(ctx, wake); {
	case errors.Is(err, errNoEvent):
		return watching.Event{}, true, nil
	case err != nil:
		event, err = c.leave(err)
		return event, false, err
	}
	c.active()
	c.known = event.Meta.ResourceVersion
	return event, false, nil
}

// errNoEvent means that no event waits for the subscriber.
var errNoEvent = errors.New("no event waits")

// take returns the next event. If there is none, it lets wake be called when there is, when the
// connection or the context has ended, or when the right must be confirmed.
//
// Errors: errNoEvent, and those of Next.
func (c *cursor) take(ctx context.Context, wake func()) (watching.Event, error) {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(c.pending) > 0 && c.pending[0] >= f.base:
		e := &f.log[c.pending[0]-f.base]
		e.readers--
		if c.pending = c.pending[1:]; len(c.pending) == 0 {
			c.pending = nil
		}
		c.passed = e.event.Meta.ResourceVersion
		return e.event, nil
	case c.up.ended && c.up.err != nil:
		return watching.Event{}, c.up.err
	case c.up.ended, len(c.pending) > 0, ctx.Err() != nil: // the context calls rouse only once, maybe before wake is set
		return watching.Event{}, io.EOF
	}
	s := &c.sleep
	s.wake = wake
	if wait := time.Until(c.right.next); s.due == nil {
		s.due, s.unbind = time.AfterFunc(wait, c.rouse), context.AfterFunc(ctx, c.rouse)
	} else {
		s.due.Reset(wait)
	}
	return watching.Event{}, errNoEvent
}

// rouse calls the function of a subscriber that waits.
func (c *cursor) rouse() {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	c.roused()
}

// roused is rouse. The feed's mutex is held.
func (c *cursor) roused() {
	if wake := c.sleep.wake; wake != nil {
		c.sleep.wake = nil
		wake()
	}
}

// leave ends the watch with a bookmark, if the subscriber does not know how far it has come.
// Otherwise, and in the next call, it returns the error.
func (c *cursor) leave(err error) (watching.Event, error) {
	if !errors.Is(err, io.EOF) {
		return watching.Event{}, err
	}
	at := c.position()
	if order, compared := resourceversion.CompareResourceVersion(at, c.known); compared != nil || order <= 0 {
		return watching.Event{}, err
	}
	c.known = at
	return watching.Bookmark(at), nil
}

// position returns the version up to which the subscriber misses nothing.
func (c *cursor) position() string {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(c.pending) > 0:
		return c.passed
	case c.up.ended:
		return c.up.last
	}
	return f.last
}

// append adds an event for the subscriber, unless its listing or its last watch has covered
// it. The feed's mutex is held.
func (c *cursor) append(e *entry, number uint64, before string) {
	if c.isKnown(e) {
		return
	}
	if len(c.pending) == 0 {
		c.passed = before
	}
	c.pending = append(c.pending, number)
	e.readers++
	c.roused()
}

// isKnown reports whether the subscriber's listing, or its last watch, has covered an event.
func (c *cursor) isKnown(e *entry) bool {
	if c.from == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(e.event.Meta.ResourceVersion, c.from)
	if err != nil || order <= 0 {
		return true
	}
	c.from = ""
	return false
}

// opened waits for the connection. If again is true, joining again may succeed.
func (c *cursor) opened(ctx context.Context, version string) (again bool, err error) {
	select {
	case <-c.up.opened:
		return false, nil
	default:
	}
	select {
	case <-c.up.opened:
		return false, nil
	case <-c.up.over:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if c.up.err == nil {
		return false, io.EOF
	}
	order, _ := resourceversion.CompareResourceVersion(c.up.from, version)
	return errors.Is(c.up.err, watching.ErrExpired) && order < 0, c.up.err // an older version has expired, not this one
}

// Covers reports whether the server's data was checked to be at least of a version.
func (c *cursor) Covers(version string) bool {
	order, err := resourceversion.CompareResourceVersion(c.up.covered, version)
	return err == nil && order >= 0
}

// Contact returns when the server last sent anything over the shared watch.
func (c *cursor) Contact() time.Time {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	return c.feed.contact
}

// Close leaves the feed.
func (c *cursor) Close() {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.up.audience.remove(c)
	for _, number := range c.pending {
		if number >= f.base {
			f.log[number-f.base].readers--
		}
	}
	c.pending = nil
	c.sleep.end()
	if f.subscribers--; f.subscribers == 0 {
		if f.leaving != nil {
			f.leaving.Stop()
		}
		f.leaving = time.AfterFunc(linger, func() { f.hub.reap(f) })
	}
}
