package conns

import (
	"bytes"
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/processors"
)

// Secure accepts TLS connections within the limits. Handshakes compute on half of the processors at most,
// so that a flood of them is no queue of a thousand computations before requests.
//
// # Guarantees
//
//   - A handshake counts while it computes, and not while it waits for its peer.
//   - Handshakes of known addresses come first: see Request.Prove.
//   - Within each of both groups, the addresses take turns.
//   - Between two handshakes the runtime looks at the network: see relay.
//   - A handshake that waits for more than handshakeTimeout fails.
//
// # Errors
//
// It fails if the system has no file descriptors left.
func (b *Bounds) Secure(l net.Listener, config *tls.Config) (net.Listener, error) {
	var err error
	if b.handshakes.relay, err = newRelay(); err != nil {
		return nil, err
	}
	b.handshakes.all = max(1, processors.Number()/2)
	b.handshakes.free = b.handshakes.all
	config = config.Clone()
	own := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if err := b.handshakes.enter(hello.Conn.(*conn)); err != nil {
			return nil, err
		}
		if own == nil {
			return nil, nil
		}
		return own(hello)
	}
	return tls.NewListener(secured{b.Listener(l), &b.handshakes}, config), nil
}

// secured is a listener with handshakes.
type secured struct {
	net.Listener
	handshakes *handshakes
}

func (s secured) Close() error { return errors.Join(s.Listener.Close(), s.handshakes.end()) }

const (
	handshakeTimeout = 5 * time.Second

	// knownAddresses is how many addresses are remembered because of Request.Prove. A server
	// of webhooks has few good clients: the API servers.
	knownAddresses = 1024
)

var (
	errTooManyHandshakes = errors.New("too many TLS handshakes are under way")
	errEvicted           = errors.New("the connection was closed in favor of another one")
)

// handshakes bounds the handshakes that compute at once.
type handshakes struct {
	mu     sync.Mutex // guards all below, and the handshakes of connections
	relay  *relay     // nil: turns are passed on directly
	all    int        // turns
	free   int
	first  waiters // of known addresses
	others waiters
	known  addresses
}

// handshake is the state of one connection.
type handshake struct {
	computing bool
	queue     *waiters      // where the connection waits; nil: it does not
	place     *list.Element // in the line of its address
	given     chan struct{} // closed when the connection may compute or is closed
	closed    bool
}

// enter waits until the handshake of a connection may compute. It computes until the
// server writes, reads or closes.
//
// Errors: errTooManyHandshakes, errEvicted.
func (h *handshakes) enter(c *conn) error {
	given := h.wait(c)
	timeout := time.NewTimer(handshakeTimeout)
	defer timeout.Stop()
	err := errEvicted
	select {
	case <-given:
	case <-timeout.C:
		err = errTooManyHandshakes
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.handshake.computing {
		return nil
	}
	h.leave(c)
	return err
}

// wait appends a connection to the line of its address, and hands out free processors.
func (h *handshakes) wait(c *conn) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	given := make(chan struct{})
	if c.handshake.closed {
		close(given)
		return given
	}
	c.handshake.given, c.handshake.queue = given, &h.others
	if h.known.has(c.address) {
		c.handshake.queue = &h.first
	}
	c.handshake.place = c.handshake.queue.push(c)
	h.hand()
	return given
}

// hand lets waiting handshakes compute while processors are free. The caller holds the
// lock.
func (h *handshakes) hand() {
	for h.free > 0 {
		c := h.first.pop()
		if c == nil {
			c = h.others.pop()
		}
		if c == nil {
			return
		}
		h.free--
		h.relay.expect(h.add)
		c.handshake.queue, c.handshake.computing = nil, true
		c.busy.Store(true)
		close(c.handshake.given)
	}
}

// leave ends the waiting or the computing of a connection. The caller holds the lock.
func (h *handshakes) leave(c *conn) {
	switch {
	case c.handshake.queue != nil:
		c.handshake.queue.remove(c)
		c.handshake.queue = nil
		close(c.handshake.given)
	case c.handshake.computing:
		c.handshake.computing = false
		c.busy.Store(false)
		if !h.relay.pass() {
			h.free++
			h.hand()
		}
	}
}

// add lets more handshakes compute. It returns false if none computes.
func (h *handshakes) add(turns int) (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free += turns
	h.hand()
	if h.free == h.all {
		h.relay.reading = false
	}
	return h.relay.reading
}

// end ends the relay. Handshakes that are under way continue without it.
func (h *handshakes) end() error {
	h.mu.Lock()
	h.relay.closed = true
	h.mu.Unlock()
	return h.relay.wait()
}

// rest says that a connection waits for its peer: its handshake does not compute now.
func (h *handshakes) rest(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave(c)
}

// close ends the handshake of a connection for good.
func (h *handshakes) close(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.handshake.closed = true
	h.leave(c)
}

// prove remembers an address because a request of it was handled.
func (h *handshakes) prove(address netip.Prefix) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known.add(address)
}

// isRetry reports whether a server's message asks for another ClientHello. The handshake
// then computes once more.
//
// Source: RFC 8446, section 4.1.3: a ServerHello with this value of Random.
func isRetry(message []byte) bool {
	const header = 5 + 4 + 2 // of the record, of the message, and the version
	return len(message) >= header+len(retryRandom) && message[0] == 22 && message[5] == 2 && bytes.Equal(message[header:header+len(retryRandom)], retryRandom[:])
}

var retryRandom = [32]byte{ // SHA-256 of "HelloRetryRequest"
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// waiters holds waiting connections. Their addresses take turns.
type waiters struct {
	turns list.List // of *line, the next one first
	lines map[netip.Prefix]*list.Element
}

// line holds the waiting connections of one address, the oldest first.
type line struct {
	address netip.Prefix
	conns   list.List
}

func (w *waiters) push(c *conn) *list.Element {
	turn := w.lines[c.address]
	if turn == nil {
		if w.lines == nil {
			w.lines = map[netip.Prefix]*list.Element{}
		}
		turn = w.turns.PushBack(&line{address: c.address})
		w.lines[c.address] = turn
	}
	return turn.Value.(*line).conns.PushBack(c)
}

// pop removes and returns the connection whose turn it is; nil if none waits.
func (w *waiters) pop() *conn {
	turn := w.turns.Front()
	if turn == nil {
		return nil
	}
	c := turn.Value.(*line).conns.Front().Value.(*conn)
	w.turns.MoveToBack(turn)
	w.remove(c)
	return c
}

func (w *waiters) remove(c *conn) {
	turn := w.lines[c.address]
	waiting := turn.Value.(*line)
	waiting.conns.Remove(c.handshake.place)
	if waiting.conns.Len() == 0 {
		w.turns.Remove(turn)
		delete(w.lines, c.address)
	}
}

// addresses is a bounded set that forgets the address that was added longest ago.
type addresses struct {
	order list.List // of netip.Prefix, the oldest first
	all   map[netip.Prefix]*list.Element
}

func (a *addresses) has(address netip.Prefix) bool { return a.all[address] != nil }

func (a *addresses) add(address netip.Prefix) {
	if e := a.all[address]; e != nil {
		a.order.MoveToBack(e)
		return
	}
	if a.all == nil {
		a.all = map[netip.Prefix]*list.Element{}
	}
	a.all[address] = a.order.PushBack(address)
	if a.order.Len() > knownAddresses {
		delete(a.all, a.order.Remove(a.order.Front()).(netip.Prefix))
	}
}
