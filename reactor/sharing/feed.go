package sharing

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// These constants bound the log of a feed. Events that wait for no subscriber are dropped beyond
// the smaller bounds: subscribers that join need it if events arrive during their listings.
const (
	maxEvents = 4096
	maxBytes  = 8 << 20
	minEvents = 64
	minBytes  = 64 << 10
)

// maxLogs bounds the logs of all feeds of a hub together, in bytes, beyond minBytes of each: operators choose what they watch, and can be as
// slow as they like.
const maxLogs = 64 << 20

// abstention is how long a hub does not repeat a watch that the server has refused to it.
const abstention = time.Minute

// These errors say why a subscriber does not share the watch.
var (
	errUnshared = errors.New("the host cannot share the watch")
	errBehind   = errors.New("the shared watch is ahead of the subscriber")
)

// feed is one shared watch.
type feed struct {
	hub *Hub
	key key

	mu          sync.Mutex // guards all below
	gone        bool       // the hub has dropped the feed
	subscribers int
	up          *upstream   // the connection; nil: none
	refused     time.Time   // until then, subscribers use connections of their own
	leaving     *time.Timer // drops the feed, if there are no subscribers
	contact     time.Time   // when the server last sent anything

	// log are the last events of objects. floor is the version before the first of them, last
	// that of the last line of the watch: all events between both are in the log. Empty
	// versions: nothing was read, and the first subscriber says where to begin.
	log         []entry
	base        uint64 // number of the first event in the log
	bytes       int
	floor, last string
	read        bool // last is the version of an earlier connection
}

// entry is one event in the log.
type entry struct {
	event   watching.Event
	marks   interests.Marks
	readers int // subscribers that it waits for
}

// size is what the event takes, in bytes.
func (e *entry) size() int { return len(e.event.Object) + e.marks.Size() }

// upstream is one connection of a feed. The feed's mutex guards it.
type upstream struct {
	cancel  context.CancelFunc
	from    string        // the version that it continues from
	again   bool          // the version is from an earlier connection
	opened  chan struct{} // closed when the server has accepted the watch
	covered string        // the version of the server's data when it was checked; empty: not checked
	over    chan struct{} // closed when the connection has ended
	ended   bool
	last    string // the version at the end of the connection
	err     error  // nil: the next watch can continue from last

	audience *audience
}

// join adds a subscriber that continues from a version, and waits for the connection.
//
// Errors: errUnshared, errBehind, and those of watching.Source.
func (f *feed) join(ctx context.Context, r *watching.Request, of *right) (*cursor, error) {
	for {
		c := &cursor{
			feed: f, right: of, active: r.Active, interest: r.Interest, follows: keysOf(r),
			known: r.Version, from: r.Version,
		}
		if err := f.enter(c); err != nil { //nolint:contextcheck // the connection outlives this subscriber
			return nil, err
		}
		again, err := c.opened(ctx, r.Version)
		if err == nil {
			return c, nil
		}
		c.Close()
		if !again {
			return nil, err
		}
	}
}

// keysOf returns the objects that a subscriber knows, so that the feed need not iterate over them
// while others wait for it.
func keysOf(r *watching.Request) map[string]struct{} {
	keys := map[string]struct{}{}
	if r.Interest != nil {
		for key := range r.Known {
			keys[key] = struct{}{}
		}
	}
	return keys
}

// enter adds a subscriber, and starts the connection if there is none.
func (f *feed) enter(c *cursor) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hub.ctx.Err() != nil || time.Now().Before(f.refused) {
		return errUnshared
	}
	order, err := resourceversion.CompareResourceVersion(c.from, cmp.Or(f.floor, c.from))
	switch {
	case err != nil: // versions of this server cannot be compared
		return errUnshared
	case f.gone:
		return errGone
	case order < 0:
		return errBehind
	case f.last == "":
		f.floor, f.last = c.from, c.from
	}
	if f.up == nil {
		f.start()
	}
	if f.leaving != nil {
		f.leaving.Stop()
	}
	c.up = f.up
	f.subscribers++
	f.up.audience.add(c)
	f.replay(c)
	return nil
}

// replay adds the events in the log that a new subscriber has missed.
func (f *feed) replay(c *cursor) {
	first := len(f.log)
	for first > 0 && watching.IsLater(f.log[first-1].event.Meta.ResourceVersion, c.from) {
		first--
	}
	before := c.from
	for i := first; i < len(f.log); i++ {
		e := &f.log[i]
		if f.up.audience.replay(c, e) {
			c.append(e, f.base+uint64(i), before)
		}
		before = e.event.Meta.ResourceVersion
	}
	f.up.audience.settle(c)
}

// errGone means that the hub has just dropped the feed, so that the hub must be asked again.
var errGone = errors.New("the feed is gone")

// start opens a connection that continues from the last event.
func (f *feed) start() {
	ctx, cancel := context.WithCancel(f.hub.ctx)
	f.up = &upstream{cancel: cancel, from: f.last, again: f.read, opened: make(chan struct{}), over: make(chan struct{}), audience: newAudience()}
	go f.run(ctx, f.up) // It ends when the last subscriber has left, or with the hub.
}

// run reads one connection.
func (f *feed) run(ctx context.Context, up *upstream) {
	defer up.cancel()
	err := f.follow(ctx, up)
	f.mu.Lock()
	defer f.mu.Unlock()
	up.ended, up.last, up.err, f.up = true, f.last, err, nil
	defer close(up.over)
	defer up.audience.rouse()
	switch code, _ := clients.Code(err); {
	case err == nil:
	case code == http.StatusForbidden, code == http.StatusUnauthorized, errors.Is(err, credentials.ErrDepleted), errors.Is(err, errUnshared):
		f.refused, up.err = time.Now().Add(abstention), errUnshared
	case errors.Is(err, watching.ErrExpired):
		f.forget()
	}
}

// follow opens a connection, and reads it until it ends. Its nil error means that the next
// connection can continue.
func (f *feed) follow(ctx context.Context, up *upstream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := f.hub.options.Watching()
	options.Labels, options.Fields, options.Shard = f.key.labels, f.key.fields, f.key.shard
	if limit := options.ClientTimeout; limit > 0 {
		var ended context.CancelFunc
		ctx, ended = context.WithTimeout(ctx, limit)
		defer ended()
	}
	active := func() {}
	if limit := options.InactivityTimeout; limit > 0 {
		timer := time.AfterFunc(limit, cancel)
		defer timer.Stop()
		active = func() { timer.Reset(limit) }
	}
	lines, err := f.hub.source.Watch(ctx, watching.Request{Path: f.key.path, Options: options, Version: up.from, Active: active})
	switch code, _ := clients.Code(err); {
	case code == http.StatusGone:
		return watching.ErrExpired
	case err != nil && (ctx.Err() != nil || errors.Is(err, io.EOF)):
		return nil
	case err != nil:
		return err
	}
	defer lines.Close()
	covered := ""
	if up.again && !lines.Covers(up.from) {
		if covered, err = f.hub.current(ctx, f.key, options, up.from); err != nil {
			return unlessEnded(ctx, err)
		}
	}
	f.open(up, covered)
	for {
		event, err := lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = event.Failure()
		}
		if err == nil {
			err = f.add(up, event)
		}
		if err != nil {
			return unlessEnded(ctx, err)
		}
	}
}

// unlessEnded drops errors that the end of the context has caused.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// open lets the subscribers know that the server has accepted the watch.
func (f *feed) open(up *upstream, covered string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	up.covered, f.read = covered, true
	close(up.opened)
}

// add takes a line of the watch: it appends an event to the log, and wakes the subscribers
// that the event concerns. Other lines only say how far the watch has come.
//
// Errors: errUnshared if the version is not after the last one; errGone.
func (f *feed) add(up *upstream, event watching.Event) error {
	event.Object = event.Object[:len(event.Object):len(event.Object)] // no subscriber can append to the object of others
	e := entry{event: event}
	if event.IsOfObject() {
		e.marks = interests.MarksOf(event.Object)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return errGone
	}
	order, err := resourceversion.CompareResourceVersion(event.Meta.ResourceVersion, f.last)
	if err != nil || order < 0 {
		f.hub.options.Log(abi.LevelWarning, "The events of "+string(f.key.path)+" have no order, so their watch is not shared.")
		return errUnshared
	}
	before := f.last
	f.last, f.contact = event.Meta.ResourceVersion, time.Now()
	if !event.IsOfObject() {
		return nil
	}
	for _, c := range up.audience.of(&e) {
		c.append(&e, f.base+uint64(len(f.log)), before)
	}
	f.log = append(f.log, e)
	f.grow(e.size())
	f.trim()
	return nil
}

// trim drops events beyond the bounds.
func (f *feed) trim() {
	for len(f.log) > 1 {
		first := &f.log[0]
		over := len(f.log) > maxEvents || f.bytes > maxBytes || f.bytes > minBytes && f.hub.logs.Load() > maxLogs
		spare := first.readers == 0 && (len(f.log) > minEvents || f.bytes > minBytes)
		if !over && !spare {
			return
		}
		f.floor = first.event.Meta.ResourceVersion
		f.grow(-first.size())
		*first = entry{}
		f.log, f.base = f.log[1:], f.base+1
	}
}

// forget drops the log and the version: the next subscriber begins after its own listing.
func (f *feed) forget() {
	f.base += uint64(len(f.log))
	f.grow(-f.bytes)
	f.log, f.floor, f.last, f.read = nil, "", "", false
}

// grow counts bytes of the log.
func (f *feed) grow(bytes int) {
	f.bytes += bytes
	f.hub.logs.Add(int64(bytes))
}
