package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// conn is a connection. One request at a time uses it.
type conn struct {
	net.Conn // TLS, or the socket
	socket   *socket
	config   *tls.Config          // of the transport when it was opened
	state    *tls.ConnectionState // nil: no TLS
	reused   bool
	since    time.Time // when it became idle
	probe    [1]byte
}

// secure makes it a connection of TLS to the server of an address.
func (c *conn) secure(ctx context.Context, address string) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.config != nil {
		config = c.config.Clone()
	}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		config.ServerName = host
	}
	config.DynamicRecordSizingDisabled = true // a request is one record, and so one packet
	secured := tls.Client(c.socket, config)
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errHandshake)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errHandshake) {
			return errHandshake
		}
		return err
	}
	state := secured.ConnectionState()
	if p := state.NegotiatedProtocol; p != "" && p != "http/1.1" {
		return fmt.Errorf("the server has chosen the protocol %q instead of HTTP/1.1", p)
	}
	c.Conn, c.state = secured, &state
	return nil
}

var errHandshake = errors.New("TLS handshake timeout")

// isAlive reports whether an idle connection can be used: the server has neither closed it, nor
// sent anything but messages of TLS, nor has it broken as far as the system knows. It does not
// wait.
func (c *conn) isAlive() bool {
	c.socket.probing = true
	_, err := c.Read(c.probe[:])
	c.socket.probing = false
	return errors.Is(err, errNothing)
}

// errNothing means that nothing has arrived. TLS takes a timeout for an error that passes.
var errNothing = os.ErrDeadlineExceeded

// interrupt ends the current reads and writes, and all later ones.
func (c *conn) interrupt() { _ = c.socket.SetDeadline(time.Unix(1, 0)) }

// end closes an idle connection.
func (c *conn) end() { _ = c.Conn.Close() }

// abort closes a connection without saying so to the server, which could take time.
func (c *conn) abort() { _ = c.socket.Close() }

// socket is a connection of the system, whose reads wait unless it is probed.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	probing bool
}

// errOpaque means that a dialer returns connections that hide their sockets.
var errOpaque = errors.New("the dialer returns a connection without its socket")

// newSocket takes the socket of a connection from a note, or from the connection itself.
func newSocket(c net.Conn, note *note) (*socket, error) {
	own := note.conn
	if own == nil {
		own, _ = c.(syscall.Conn)
	}
	if own == nil {
		return nil, errOpaque
	}
	raw, err := own.SyscallConn()
	return &socket{Conn: c, raw: raw}, err
}

// Read reads. While the socket is probed, it does not wait.
func (s *socket) Read(p []byte) (int, error) {
	if s.probing {
		return s.readNow(p)
	}
	return s.Conn.Read(p)
}

// note takes the connection of a dialer that others wrap, such as client-go's dialer for
// certificates that change.
type note struct{ conn syscall.Conn }

type noteKey struct{}

func noted(ctx context.Context) (context.Context, *note) {
	n := &note{}
	return context.WithValue(ctx, noteKey{}, n), n
}

// Noting returns a dialer whose connections transports recognise even if other dialers wrap them.
func Noting(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if n, ok := ctx.Value(noteKey{}).(*note); ok && err == nil {
			n.conn, _ = c.(syscall.Conn)
		}
		return c, err
	}
}
