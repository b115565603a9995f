// Package conns limits the connections of an HTTP server. If a new connection exceeds the
// limits, the least important connection is closed, so that clients with idle connections
// cannot lock out others.
package conns

import (
	"cmp"
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/nowait"
)

// DefaultTotal is the default of Limits.Total.
const DefaultTotal = 2048

// Limits bound the connections of a server at any time. The zero value works.
type Limits struct {
	Total      int // of all clients. Default: 2,048
	PerAddress int // of one IPv4 address, or of one IPv6 /64 network. Default: half of Total
	Unproven   int // that have not sent a whole request. Default: half of Total
}

func (l Limits) withDefaults() Limits {
	l.Total = cmp.Or(l.Total, DefaultTotal)
	l.PerAddress = cmp.Or(l.PerAddress, max(1, l.Total/2))
	l.Unproven = cmp.Or(l.Unproven, max(1, l.Total/2))
	return l
}

// Counts are the numbers of connections by their fate.
type Counts struct {
	Open    int
	Evicted int // closed in favor of another connection
	Refused int // closed at once, because all others are in use
}

// stage is the importance of a connection: connections of the lowest stage are closed
// first.
type stage int

const (
	unproven stage = iota // no whole request has arrived yet
	idle                  // a request has been answered; the client sends the next one or reads the response
	waiting               // a request is waiting
	running               // a request is being handled: the connection is never closed
	stages
)

// Bounds keep the connections of one server within limits. They are safe for concurrent
// use.
//
// # Guarantees
//
//   - A connection with a running request is not closed.
//   - Among the others, the lowest stage is closed first; within a stage, a connection of
//     the address with the most connections; of these, the longest in the stage.
type Bounds struct {
	limits     Limits
	handshakes handshakes // of Secure

	mu      sync.Mutex // guards the fields below, and the stages of connections
	clients map[netip.Prefix]*client
	unused  int    // connections of the stage unproven
	changes uint64 // counts changes of stages: the clock of since
	counts  Counts
}

// client holds the connections of one address, by stage, the oldest first.
type client struct {
	conns [stages]list.List
	count int
}

// New makes bounds for one server.
func New(limits Limits) *Bounds {
	return &Bounds{limits: limits.withDefaults(), clients: map[netip.Prefix]*client{}}
}

// Counts returns the current numbers.
func (b *Bounds) Counts() Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// Listener accepts connections within the limits. It closes any connection that it does
// not accept, so none waits.
func (b *Bounds) Listener(l net.Listener) net.Listener { return listener{l, b} }

type listener struct {
	net.Listener
	bounds *Bounds
}

func (l listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: nowait.Conn(accepted), bounds: l.bounds, address: AddressOf(accepted.RemoteAddr().String())}
		evicted, ok := l.bounds.admit(c)
		for _, old := range evicted {
			l.bounds.handshakes.close(old)
			abort(old.Conn)
		}
		if ok {
			return c, nil
		}
		abort(accepted)
	}
}

// abort closes a connection without waiting for its peer.
func abort(c net.Conn) {
	if own, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = own.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection may be closed already
	}
	_ = c.Close() // the connection may be closed already
}

// AddressOf returns the address by which connections and requests of a client are counted.
// For IPv6 it is the /64 network, because one machine may own all of its addresses. It is
// the zero value for a text that is not an address with a port.
func AddressOf(remote string) netip.Prefix {
	parsed, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := parsed.Addr().Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits) // the length fits
	return prefix
}

// admit makes room for a connection and counts it. The caller closes the evicted
// connections.
func (b *Bounds) admit(c *conn) (evicted []*conn, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.clients[c.address]
	for _, full := range []struct {
		is   func() bool
		of   *client // nil: any
		upto stage
	}{
		{func() bool { return own != nil && own.count >= b.limits.PerAddress }, own, waiting},
		{func() bool { return b.unused >= b.limits.Unproven }, nil, unproven},
		{func() bool { return b.counts.Open >= b.limits.Total }, nil, waiting},
	} {
		if !full.is() {
			continue
		}
		old := b.least(full.of, full.upto)
		if old == nil {
			b.counts.Refused++
			return evicted, false
		}
		b.remove(old)
		b.counts.Evicted++
		evicted = append(evicted, old)
	}
	if own = b.clients[c.address]; own == nil {
		own = &client{}
		b.clients[c.address] = own
	}
	own.count++
	b.counts.Open++
	b.unused++
	b.enter(own, c)
	return evicted, true
}

// least returns the least important connection, of one client or of all; nil if every
// connection is above the stage upto.
func (b *Bounds) least(of *client, upto stage) *conn {
	for s := unproven; s <= upto; s++ {
		most := of
		if of == nil {
			for _, c := range b.clients {
				if more := c.conns[s].Len(); more > 0 && (most == nil || more > most.conns[s].Len() || more == most.conns[s].Len() && c.oldest(s).since < most.oldest(s).since) {
					most = c
				}
			}
		}
		if most != nil && most.conns[s].Len() > 0 {
			return most.oldest(s)
		}
	}
	return nil
}

// oldest returns the connection that has been in a stage for the longest time. The stage
// must not be empty.
func (c *client) oldest(s stage) *conn { return c.conns[s].Front().Value.(*conn) }

// enter appends a connection to the list of its stage. The caller holds the lock.
func (b *Bounds) enter(own *client, c *conn) {
	b.changes++
	c.since = b.changes
	c.place = own.conns[c.stage].PushBack(c)
}

// remove forgets a connection. The caller holds the lock.
func (b *Bounds) remove(c *conn) {
	if c.place == nil {
		return
	}
	own := b.clients[c.address]
	own.conns[c.stage].Remove(c.place)
	c.place = nil
	b.counts.Open--
	if c.stage == unproven {
		b.unused--
	}
	if own.count--; own.count == 0 {
		delete(b.clients, c.address)
	}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	bounds  *Bounds
	address netip.Prefix

	handshake handshake   // guarded by the lock of the handshakes
	busy      atomic.Bool // the handshake computes
	retry     atomic.Bool // the next message that is read is another ClientHello

	// The lock of the bounds guards these fields.
	place            *list.Element // in the list of its stage; nil: closed
	stage            stage
	since            uint64 // the value of changes when the connection entered its stage
	waiting, running int    // requests; HTTP/2 has several at the same time
}

// Close closes the connection, and makes room for another one.
func (c *conn) Close() error {
	c.bounds.mu.Lock()
	c.bounds.remove(c)
	c.bounds.mu.Unlock()
	c.bounds.handshakes.close(c)
	return c.Conn.Close()
}

// Read reads. A handshake waits for its peer meanwhile.
func (c *conn) Read(p []byte) (int, error) {
	if c.busy.Load() {
		c.bounds.handshakes.rest(c)
	}
	n, err := c.Conn.Read(p)
	if err == nil && c.retry.Load() {
		err = c.bounds.handshakes.enter(c)
	}
	return n, err
}

// Write writes. The handshake has computed what it sends.
func (c *conn) Write(p []byte) (int, error) {
	if c.busy.Load() {
		c.retry.Store(isRetry(p))
		c.bounds.handshakes.rest(c)
	}
	return c.Conn.Write(p)
}

// change counts requests of the connection, and moves the connection to the resulting
// stage.
func (c *conn) change(moreWaiting, moreRunning int) {
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	c.waiting += moreWaiting
	c.running += moreRunning
	if c.place == nil {
		return
	}
	own := c.bounds.clients[c.address]
	own.conns[c.stage].Remove(c.place)
	if c.stage == unproven {
		c.bounds.unused--
	}
	switch {
	case c.running > 0:
		c.stage = running
	case c.waiting > 0:
		c.stage = waiting
	default:
		c.stage = idle
	}
	c.bounds.enter(own, c)
}

type key struct{}

// Context makes the connection available to Begin. Use it as http.Server.ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok { // *tls.Conn
		c = wrapped.NetConn()
	}
	if own, ok := c.(*conn); ok {
		return context.WithValue(ctx, key{}, own)
	}
	return ctx
}

// Request is a whole request on a connection. A nil Request belongs to a connection
// without bounds, and is valid.
type Request struct {
	conn    *conn
	running bool
}

// Begin marks the arrival of a whole request. The request waits until Run, and counts
// until End.
func Begin(ctx context.Context) *Request {
	c, ok := ctx.Value(key{}).(*conn)
	if !ok {
		return nil
	}
	c.change(1, 0)
	return &Request{conn: c}
}

// Run marks the request as running: its connection is not closed until End.
func (r *Request) Run() {
	if r != nil {
		r.running = true
		r.conn.change(-1, 1)
	}
}

// Prove says that the client sends what a well-behaved one sends. From now on, handshakes of its address come
// before those of unknown addresses.
func (r *Request) Prove() {
	if r != nil {
		r.conn.bounds.handshakes.prove(r.conn.address)
	}
}

// End marks the request as answered.
func (r *Request) End() {
	switch {
	case r == nil:
	case r.running:
		r.conn.change(0, -1)
	default:
		r.conn.change(-1, 0)
	}
}
