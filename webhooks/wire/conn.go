package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/internal/panics"
)

// These are the states of a connection.
const (
	idle   = iota // between requests
	busy          // from the first byte of a request until the end of its answer
	closed        // by Shutdown
)

// Patience is the time after which a connection is watched for its end while a request is handled. Most are answered long before.
const Patience = 100 * time.Millisecond

// lingering is how long a connection stays open after an answer to a request that was not read: the system would drop the answer
// when it closes a connection with unread data. It is that of net/http.
const lingering = 500 * time.Millisecond

// conn is a connection with plain requests. Only its goroutine uses it, except for the methods of net.Conn, and for look.
type conn struct {
	net.Conn
	server *Server
	cancel context.CancelFunc
	state  atomic.Int32
	tls    *tls.ConnectionState
	remote string

	in  *bufio.Reader
	out []byte // room for answers

	watch    *time.Timer
	watching atomic.Bool   // the timer was set for this request, which is not answered yet
	watched  chan struct{} // gets a token when look has ended
}

// headSize is the size of heads of plain requests. Those of API servers are a tenth of it.
const headSize = 4 << 10

func newConn(s *Server, accepted net.Conn, cancel context.CancelFunc) *conn {
	return &conn{Conn: accepted, server: s, cancel: cancel, remote: accepted.RemoteAddr().String(), watched: make(chan struct{}, 1)}
}

// serve answers plain requests. It returns the connection for net/http if another one comes; nil: it is over.
func (c *conn) serve(ctx context.Context) (odd net.Conn) {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		_ = c.SetDeadline(time.Now().Add(c.server.odd.ReadHeaderTimeout))
		if secured.Handshake() != nil {
			return secured // net/http gets the same error, and says so
		}
		_ = c.SetDeadline(time.Time{})
		state := secured.ConnectionState()
		if state.NegotiatedProtocol != "" && state.NegotiatedProtocol != "http/1.1" {
			return secured
		}
		c.tls = &state
	}
	c.in = bufio.NewReaderSize(c.Conn, headSize)
	_ = c.SetReadDeadline(time.Now().Add(c.server.odd.ReadHeaderTimeout))
	for least := 1; ; least = 4 { // net/http does not answer to less after a request
		if _, err := c.in.Peek(least); err != nil || !c.state.CompareAndSwap(idle, busy) {
			return nil
		}
		if least > 1 {
			c.skipEmptyLine(least)
		}
		head, err := c.head()
		r := plain(head)
		if r == nil {
			return c.handOver(err)
		}
		if !c.answer(ctx, r, len(head)) {
			return nil
		}
		_ = c.SetDeadline(time.Now().Add(c.server.odd.IdleTimeout)) // TLS may write, too
	}
}

// skipEmptyLine skips what old clients send after a body, as net/http does. It looks at so many bytes.
//
// Source: RFC 9112, section 2.2.
func (c *conn) skipEmptyLine(among int) {
	text, _ := c.in.Peek(among) // they are there
	_, _ = c.in.Discard(len(text) - len(bytes.TrimLeft(text, "\r\n")))
}

// head waits for the head of a request, and leaves it in the reader. It is nil after an error, and if it is too long.
func (c *conn) head() ([]byte, error) {
	for isNew := true; ; isNew = false {
		text, _ := c.in.Peek(c.in.Buffered())
		if end := endOf(text); end > 0 {
			return text[:end], nil
		}
		if len(text) == c.in.Size() {
			return nil, nil
		}
		if isNew {
			_ = c.SetReadDeadline(time.Now().Add(c.server.odd.ReadHeaderTimeout))
		}
		if _, err := c.in.Peek(len(text) + 1); err != nil {
			return nil, err
		}
	}
}

// endOf returns the length of a head; 0 if its end is missing. Lines end as in net/http: with a carriage return or without.
func endOf(text []byte) int {
	for from := 0; ; {
		at := bytes.IndexByte(text[from:], '\n')
		if at < 0 {
			return 0
		}
		from += at + 1
		switch rest := text[from:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return from + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return from + 2
		}
	}
}

// answer lets the handler answer a request. It reports whether the next one may come.
func (c *conn) answer(ctx context.Context, r *http.Request, head int) (again bool) {
	_, _ = c.in.Discard(head) // it is in the reader
	b := &body{conn: c, left: r.ContentLength}
	r = r.WithContext(ctx)
	r.Body, r.RemoteAddr, r.TLS = b, c.remote, c.tls
	if b.left > int64(c.in.Buffered()) {
		_ = c.SetReadDeadline(time.Now().Add(c.server.odd.ReadTimeout))
	}
	_ = c.SetWriteDeadline(time.Now().Add(c.server.odd.WriteTimeout))
	w := &writer{conn: c, body: b, header: http.Header{}}
	err := c.call(w, r)
	c.unwatch()
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return false
	}
	if w.close && b.left > 0 {
		c.linger()
	}
	c.state.Store(idle)
	return !w.close && ctx.Err() == nil && !c.server.closing.Load()
}

// call calls the handler. The error is a panic of it.
func (c *conn) call(w http.ResponseWriter, r *http.Request) (err error) {
	func() {
		defer panics.Recover(&err)
		c.server.odd.Handler.ServeHTTP(w, r)
	}()
	if err != nil {
		c.server.odd.ErrorLog.Printf("http: panic serving %s: %v\n%s", c.remote, err, panics.StackOf(err))
	}
	return err
}

// linger lets the client read an answer before the connection is closed.
func (c *conn) linger() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the client may have closed it
	}
	time.Sleep(lingering)
}

// startWatch begins to watch for the end of the connection, when the whole request was read.
func (c *conn) startWatch() {
	c.watching.Store(true)
	if c.watch == nil {
		c.watch = time.AfterFunc(Patience, c.look)
		return
	}
	c.watch.Reset(Patience)
}

// look waits for the end of the connection, or for the next request, which stays in the reader.
func (c *conn) look() {
	defer func() { c.watched <- struct{}{} }()
	_ = c.SetReadDeadline(time.Time{}) // that of the request
	if !c.watching.Load() {            // unwatch waits
		return
	}
	if _, err := c.in.Peek(1); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
}

// unwatch ends the watching before the reader is used again.
func (c *conn) unwatch() {
	if c.watching.Swap(false) && !c.watch.Stop() {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		<-c.watched
	}
}

// handOver returns the connection with all that was read of it, and with the error after it.
func (c *conn) handOver(err error) net.Conn {
	text, _ := c.in.Peek(c.in.Buffered())
	again := replayed{Conn: c.Conn, text: slices.Clone(text), err: err}
	if secured, ok := c.Conn.(*tls.Conn); ok {
		return &securedReplayed{again, secured}
	}
	return &again
}

// replayed is a connection whose first bytes are those that were read before.
type replayed struct {
	net.Conn
	text []byte
	err  error
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.text) > 0 {
		n := copy(p, r.text)
		r.text = r.text[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.Conn.Read(p)
}

// NetConn returns the connection below, for the context of connections.
func (r *replayed) NetConn() net.Conn { return r.Conn }

// securedReplayed is a connection with TLS.
type securedReplayed struct {
	replayed
	secured *tls.Conn
}

func (r *securedReplayed) NetConn() net.Conn                    { return r.secured.NetConn() }
func (r *securedReplayed) ConnectionState() tls.ConnectionState { return r.secured.ConnectionState() }
func (r *securedReplayed) CloseWrite() error                    { return r.secured.CloseWrite() }

// body is the body of a request.
type body struct {
	conn *conn
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.conn.in.Read(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); b.left == 0 && n > 0 {
		b.conn.startWatch()
		return n, io.EOF
	}
	if errors.Is(err, io.EOF) {
		b.left, err = 0, io.ErrUnexpectedEOF // the rest will not come
	}
	return n, err
}

func (b *body) Close() error { return nil }

// skip skips a body that has come as a whole. The reader of one that was read is not its own any more: see startWatch.
func (b *body) skip() {
	if b.left > 0 && b.left <= int64(b.conn.in.Buffered()) {
		n, _ := b.conn.in.Discard(int(b.left)) // it is in the reader
		b.left -= int64(n)
	}
}
