// Package wire serves plain requests of HTTP/1.1 on the goroutine of their connection, and hands connections with any other request
// over to net/http.
//
// API servers send one kind of request: a POST with a length. For each of them, net/http has a second goroutine, which reads
// meanwhile. Its answers are complete only when their handlers return, so a handler that may be late needs a third goroutine.
//
// # Guarantees
//
//   - net/http parses each request, and decides about each one that is not plain: it gets the connection with every byte of it.
//   - The limits are those of the http.Server: times, the size of heads, and the context of connections.
//   - A client that goes away ends the context of its request, after Patience at the latest.
//   - An answer is complete when it is written, before the handler returns, if the handler has set Content-Length: see Completes.
package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves the handler of an http.Server. Its methods are those of http.Server.
type Server struct {
	odd   *http.Server
	given *given

	closing atomic.Bool
	serving sync.WaitGroup // the goroutines of connections

	mu       sync.Mutex // guards the fields below
	conns    map[*conn]bool
	listener net.Listener
}

// New makes a server of an http.Server with ReadHeaderTimeout, IdleTimeout, WriteTimeout, ConnContext and ErrorLog.
func New(odd *http.Server) *Server {
	return &Server{odd: odd, given: newGiven(), conns: map[*conn]bool{}}
}

// Serve serves connections until Shutdown or Close, or until the listener fails. The end of the context has no effect: its
// values are those of all requests.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	if s.closing.Load() {
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	s.given.address = l.Addr()
	var odd sync.WaitGroup
	odd.Go(func() { _ = s.odd.Serve(s.given) }) // Waited for below. It ends with given.
	defer odd.Wait()
	defer s.given.end()
	ctx = context.WithoutCancel(ctx)
	for pause := time.Duration(0); ; {
		accepted, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.begin(ctx, accepted)
		case s.closing.Load():
			return http.ErrServerClosed
		case !isTemporary(err):
			return err
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.odd.ErrorLog.Printf("http: Accept error: %v; retrying in %v", err, pause)
			time.Sleep(pause)
		}
	}
}

// isTemporary reports whether a later connection can be accepted, as net/http does: when a process has too many files, for example.
func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

// begin serves a connection.
func (s *Server) begin(ctx context.Context, accepted net.Conn) {
	ctx, cancel := context.WithCancel(s.odd.ConnContext(ctx, accepted))
	c := newConn(s, accepted, cancel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		cancel()
		_ = accepted.Close() // there was no request
		return
	}
	s.conns[c] = true
	s.serving.Go(func() { // Waited for by Shutdown.
		defer cancel()
		odd := c.serve(ctx)
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if odd == nil || !s.given.pass(odd) {
			_ = accepted.Close() // the client may have closed it
		}
	})
}

// Shutdown ends the server: idle connections at once, the others after their answer.
//
// Errors: that of the context, if it ends before the last answer.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.stop(func(c *conn) {
		if c.state.CompareAndSwap(idle, closed) {
			_ = c.Close()
		}
	})
	ended := make(chan struct{})
	go func() { // Ends with the connections.
		s.serving.Wait()
		close(ended)
	}()
	err = errors.Join(err, s.odd.Shutdown(ctx))
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// Close closes all connections.
func (s *Server) Close() error {
	err := s.stop(func(c *conn) {
		c.cancel()
		_ = c.Close()
	})
	return errors.Join(err, s.odd.Close())
}

// stop accepts no more connections, and does something with all of the server's own.
func (s *Server) stop(do func(*conn)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if !s.closing.Swap(true) && s.listener != nil {
		err = s.listener.Close()
	}
	for c := range s.conns {
		do(c)
	}
	return err
}

// given is the listener of net/http.
type given struct {
	conns   chan net.Conn
	address net.Addr
	closed  chan struct{}
	end     func() // closes closed
}

func newGiven() *given {
	g := &given{conns: make(chan net.Conn), closed: make(chan struct{})}
	g.end = sync.OnceFunc(func() { close(g.closed) })
	return g
}

// pass hands a connection over. It returns false if the listener is closed.
func (g *given) pass(c net.Conn) bool {
	select {
	case g.conns <- c:
		return true
	case <-g.closed:
		return false
	}
}

func (g *given) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

func (g *given) Close() error {
	g.end()
	return nil
}

func (g *given) Addr() net.Addr { return g.address }
