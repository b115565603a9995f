// Package wire sends short requests over HTTP/1.1 on the goroutines of its callers: they write
// the request to the connection, and read the response from it. The transport of net/http has
// two goroutines for each connection, and four changes between goroutines for each request.
//
// It parses responses by net/http, and owns connections and their lives only. It opens them as
// another transport would, and leaves all unusual requests to that one.
//
// See RATIONALE.md, "Why do requests have connections of our own?".
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// These constants are those of client-go's transports.
const (
	maxIdle          = 25
	idleTimeout      = 90 * time.Second
	handshakeTimeout = 10 * time.Second
)

// recheck is how often the transport below is asked for a new configuration.
const recheck = time.Minute

// Transport sends requests to one server. It is safe for concurrent use.
//
// Guarantees: A request is written at most once. A connection that the server has closed while
// it was idle is not used. The end of a request's context ends the request and the reading of
// its response. A response that is closed before its end closes its connection.
type Transport struct {
	through      http.RoundTripper // opens connections, and sends other requests
	scheme, host string
	address      string // of the server, with its port

	mu      sync.Mutex // guards the fields below
	idle    []*conn    // the one that was used last comes last
	closing *time.Timer
	config  *tls.Config // the one of the last check; nil: none was made, or there is no TLS
	checked time.Time
}

// New makes a transport for requests to the server of a URL. It opens connections as the given
// transport would, with its current dialer and TLS configuration. The dialer must have been
// wrapped by Noting, and must lead to the server, not to a proxy.
//
// Where connections cannot be asked whether they are closed, or the type of the transport is
// unknown, New returns the given transport.
func New(through http.RoundTripper, server *url.URL) http.RoundTripper {
	dial, err := utilnet.DialerFor(through)
	if !canProbe || err != nil || dial == nil || !isPlain(server.Host) {
		return through
	}
	port := map[string]string{"http": "80", "https": "443"}[server.Scheme]
	if p := server.Port(); p != "" {
		port = p
	}
	if port == "" || server.Hostname() == "" {
		return through
	}
	return &Transport{through: through, scheme: server.Scheme, host: server.Host, address: net.JoinHostPort(server.Hostname(), port)}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.sends(r) {
		return t.through.RoundTrip(r)
	}
	ctx := r.Context()
	c, err := t.take(ctx)
	switch {
	case errors.Is(err, errOpaque):
		return t.through.RoundTrip(r)
	case err != nil:
		closeBody(r)
		return nil, err
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn, Reused: c.reused, WasIdle: c.reused})
	}
	e := &exchange{t: t, c: c, ctx: ctx}
	return e.run(r, trace)
}

// WrappedRoundTripper returns the transport below.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.through }

// CloseIdleConnections closes connections without requests.
func (t *Transport) CloseIdleConnections() {
	t.closeIdle(0)
	utilnet.CloseIdleConnectionsFor(t.through)
}

// take returns a connection for one request.
//
// Errors: those of opening one; errOpaque.
func (t *Transport) take(ctx context.Context) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	config := t.configuration(ctx)
	for c := t.pop(); c != nil; c = t.pop() {
		if c.config == config && c.isAlive() {
			return c, nil
		}
		c.end()
	}
	return t.open(ctx, config)
}

func (t *Transport) pop() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	last := len(t.idle) - 1
	c := t.idle[last]
	t.idle[last], t.idle = nil, t.idle[:last]
	return c
}

// put keeps a connection for further requests.
func (t *Transport) put(c *conn) {
	c.reused, c.since = true, time.Now()
	t.mu.Lock()
	full := len(t.idle) >= maxIdle
	if !full {
		t.idle = append(t.idle, c)
		if t.closing == nil {
			t.closing = time.AfterFunc(idleTimeout, func() { t.closeIdle(idleTimeout) })
		}
	}
	t.mu.Unlock()
	if full {
		c.end()
	}
}

// closeIdle closes the connections that have been idle for some time, and comes back for the
// others.
func (t *Transport) closeIdle(age time.Duration) {
	t.mu.Lock()
	old := 0
	for old < len(t.idle) && time.Since(t.idle[old].since) >= age {
		old++
	}
	closed := slices.Clone(t.idle[:old])
	t.idle = slices.Delete(t.idle, 0, old)
	switch {
	case len(t.idle) > 0:
		t.closing.Reset(idleTimeout)
	case t.closing != nil:
		t.closing.Stop()
		t.closing = nil
	}
	t.mu.Unlock()
	for _, c := range closed {
		c.end()
	}
}

// configuration returns the current configuration of TLS; nil without TLS. The transports of
// client-go replace it when the file of the certificate authorities has changed. They look at
// it when they send a request, so they get one that has ended.
func (t *Transport) configuration(ctx context.Context) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scheme == "http" || time.Since(t.checked) < recheck {
		return t.config
	}
	t.checked = time.Now()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if r, err := http.NewRequestWithContext(ended, http.MethodGet, t.scheme+"://"+t.host, nil); err == nil {
		if rsp, err := t.through.RoundTrip(r); err == nil {
			rsp.Body.Close()
		}
	}
	t.config, _ = utilnet.TLSClientConfig(t.through) // New has checked the type
	return t.config
}

// open opens a connection.
func (t *Transport) open(ctx context.Context, config *tls.Config) (*conn, error) {
	dial, err := utilnet.DialerFor(t.through)
	if err != nil {
		return nil, err
	}
	ctx, note := noted(ctx)
	plain, err := dial(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	s, err := newSocket(plain, note)
	if err != nil {
		_ = plain.Close() // nothing was written to it
		return nil, err
	}
	c := &conn{Conn: s, socket: s, config: config}
	if t.scheme == "http" {
		return c, nil
	}
	if err := c.secure(ctx, t.address); err != nil {
		_ = plain.Close() // nothing was written to it
		return nil, err
	}
	return c, nil
}
