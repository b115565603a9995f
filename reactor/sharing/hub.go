// Package sharing lets the operators of one process share watches: one connection for each
// resource, scope and selection, whatever number of operators subscribe.
//
// A Hub holds a feed for each of these. A feed reads its watch once, and keeps its last
// events in one log. It chooses the subscribers that an event concerns, and wakes only these.
// Each of them has the numbers of the events that wait for it: a slow subscriber delays no
// other one. When the log has passed a subscriber by, its shared watch ends, and it catches up
// over a connection of its own.
//
// Listings are never shared. Each subscriber lists with its own account, and continues from
// the version of its listing.
package sharing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Options configure a Hub.
type Options struct {
	// Client makes the shared watches, with the credentials of the host. Its 403 should be
	// final: see clients.Options.
	Client *clients.Client

	// Watching returns the timeouts of the shared watches. Selectors in it have no effect.
	Watching func() watching.Options

	// Log gets what happens to shared watches. The levels are those of package abi.
	Log func(level int, message string)
}

// Hub holds the shared watches of one API server.
//
// # Guarantees
//
//   - Each subscriber gets each event that concerns it after the version that it continues
//     from, once, in the order of the server. If that is not possible, its watch ends.
//   - An event that does not concern a subscriber takes no time for it: see audience.
//   - No subscriber waits for another one.
//   - A feed has one connection. It closes when the last subscriber has left for a while.
type Hub struct {
	ctx     context.Context // of the shared watches, which outlive each subscriber
	options Options
	source  watching.Source
	server  func(ctx context.Context) (string, error)
	current func(ctx context.Context, k key, o watching.Options, version string) (now string, err error)

	logs atomic.Int64 // bytes of the logs of all feeds

	mu    sync.Mutex // guards feeds
	feeds map[key]*feed
}

// key identifies what a feed watches.
type key struct {
	path                  apipath.Path
	labels, fields, shard string
}

// New makes a hub without watches. Its watches end with the context; from then on, all
// subscribers use connections of their own.
func New(ctx context.Context, o Options) *Hub {
	return &Hub{
		ctx: ctx, options: o, source: watching.Connection{Client: o.Client}, server: o.Client.Server, feeds: map[key]*feed{},
		current: func(ctx context.Context, k key, options watching.Options, version string) (string, error) {
			return (&watching.Stream{Client: o.Client, Path: k.path, Log: o.Log}).SameServer(ctx, options, version)
		},
	}
}

// Watches returns the number of shared watches that are open, or that will be closed soon.
func (h *Hub) Watches() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.feeds)
}

// of returns the feed for a key.
func (h *Hub) of(k key) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[k]
	if f == nil {
		f = &feed{hub: h, key: k}
		h.feeds[k] = f
	}
	return f
}

// linger is how long a feed without subscribers keeps its connection: those that reconnect
// find it.
const linger = 5 * time.Second

// reap ends a feed that has had no subscribers for a while.
func (h *Hub) reap(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers > 0 || f.gone { // gone: its timer was late, and the key may have another feed
		return
	}
	f.gone = true
	f.forget()
	delete(h.feeds, f.key)
	if f.up != nil {
		f.up.cancel()
	}
}
