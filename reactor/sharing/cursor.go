package sharing

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// cursor is the position of one subscriber in the log of a feed.
type cursor struct {
	feed   *feed
	up     *upstream
	right  *right // what the subscriber may see
	active func()

	next uint64 // number of its next event; the feed's mutex guards it
	from string // the version that it continues from; empty: all events are later
}

// Next waits for the next event, and returns it.
//
// Errors: io.EOF when the connection has ended, the log has passed the subscriber by, or its
// account may no longer see the objects; watching.ErrExpired; those of the connection.
func (c *cursor) Next(ctx context.Context) (watching.Event, error) {
	for {
		if !c.right.holds(ctx) {
			return watching.Event{}, io.EOF
		}
		event, changed, err := c.take()
		switch {
		case err != nil:
			return watching.Event{}, err
		case changed != nil:
			if err := pause(ctx, changed, c.right.due()); err != nil {
				return watching.Event{}, io.EOF
			}
			continue
		}
		c.active()
		if !c.isKnown(event) {
			return event, nil
		}
	}
}

// pause waits for a change, at most until the time.
func pause(ctx context.Context, changed <-chan struct{}, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// take returns the next event, or else the channel that announces it.
func (c *cursor) take() (watching.Event, <-chan struct{}, error) {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch ended := c.up.ended; {
	case ended && c.up.err != nil && (c.next < f.base || c.next >= c.up.end):
		return watching.Event{}, nil, c.up.err
	case c.next < f.base, ended && c.next >= c.up.end:
		return watching.Event{}, nil, io.EOF
	case c.next < f.base+uint64(len(f.log)):
		event := f.log[c.next-f.base]
		c.next++
		return event, nil, nil
	}
	return watching.Event{}, f.changed, nil
}

// isKnown reports whether the subscriber's listing, or its last watch, has covered an event.
func (c *cursor) isKnown(event watching.Event) bool {
	if c.from == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(event.Meta.ResourceVersion, c.from)
	if err != nil || order <= 0 {
		return true
	}
	c.from = ""
	return false
}

// opened waits for the connection. If again is true, joining again may succeed.
func (c *cursor) opened(ctx context.Context, version string) (again bool, err error) {
	for {
		f := c.feed
		f.mu.Lock()
		changed, ended := f.changed, c.up.ended
		f.mu.Unlock()
		select {
		case <-c.up.opened:
			return false, nil
		default:
		}
		if ended {
			break
		}
		select {
		case <-c.up.opened:
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
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

// Close leaves the feed.
func (c *cursor) Close() {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cursors, c)
	if len(f.cursors) == 0 {
		if f.leaving != nil {
			f.leaving.Stop()
		}
		f.leaving = time.AfterFunc(linger, func() { f.hub.reap(f) })
	}
}
