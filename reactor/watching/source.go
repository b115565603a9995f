package watching

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/interests"
)

// Source is where a stream gets its watches from: a connection of its own, or one that
// several streams share (package sharing). Listings are always the stream's own.
type Source interface {
	// Watch opens a watch. It ends with the context, or with Lines.Close.
	//
	// Errors: those of the API server and of the connection; ErrExpired; io.EOF for a watch
	// that ended before its first line.
	Watch(ctx context.Context, r Request) (Lines, error)
}

// Request describes one watch.
type Request struct {
	Path    apipath.Path
	Options Options
	Version string // the watch continues from this version
	Initial bool   // the watch begins with the existing objects; Version is ignored

	// Interest includes the objects whose events the stream needs. Known are the keys of the
	// objects whose events it needs in any case; it is read before Watch returns. A source may
	// leave out other events.
	Interest *interests.Interest
	Known    iter.Seq[string]

	// Active is called whenever the server has sent anything, except what the source leaves out:
	// see Lines.Contact. It must not be nil.
	Active func()

	// Failed is called with the error of each attempt to open the watch that another one follows.
	// It may be nil.
	Failed func(error)
}

// Lines are the lines of one watch. One goroutine uses them.
type Lines interface {
	// Next returns the next line as an event: also a bookmark or an error of the server. A
	// watch that leaves out events ends with a bookmark, so that the next one can continue.
	// The event must not be changed, because other streams may read it.
	//
	// Errors: io.EOF when the watch has ended in a way from which the next watch can
	// continue; ErrExpired; all others need a new listing, too.
	Next(ctx context.Context) (Event, error)

	// Covers reports whether the server is known to hold data of the version, or newer data.
	Covers(version string) bool

	// Contact returns when the server last sent anything, unless Request.Active was called then;
	// zero: never.
	Contact() time.Time

	Close()
}

// Idle are lines whose reader needs no goroutine while it waits.
type Idle interface {
	// Poll is Next, except that it does not wait for an event. If there is none, it returns waits,
	// and wake is called once when Poll must be called again. wake must not block. It is not called
	// after Close.
	Poll(ctx context.Context, wake func()) (event Event, waits bool, err error)
}

// Connection is the source of a stream that shares nothing.
type Connection struct {
	Client *clients.Client

	// Apart lets watches have connections of their own while few have one.
	Apart bool
}

// Watch opens a watch of its own.
func (c Connection) Watch(ctx context.Context, r Request) (Lines, error) {
	open := c.Client.Stream
	if c.Apart && r.Options.InactivityTimeout > 0 { // which notices servers that stand still
		open = c.Client.StreamApart
	}
	body, err := open(ctx, r.Path, r.query(), clients.Hooks{Failed: r.Failed})
	if err != nil {
		return nil, err
	}
	return &connected{body: body, from: waiting{Reader: &activeReader{body, r.Active}}}, nil
}

// lineBuffer is how much of a watch is read at once, in bytes: a frame of HTTP/2.
const lineBuffer = 16 << 10

// buffers are those of watches that have something to read. Idle watches have none: a process
// can have thousands of them.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, lineBuffer) }} //nolint:gochecknoglobals // all watches of the process share them

// query returns the parameters of the request.
func (r Request) query() url.Values {
	query := r.Options.selection()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	if r.Initial {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
	} else {
		query.Set("resourceVersion", r.Version)
	}
	if r.Options.ServerTimeout > 0 {
		query.Set("timeoutSeconds", strconv.Itoa(int(r.Options.ServerTimeout/time.Second)))
	}
	return query
}

// connected are the lines of a connection.
type connected struct {
	body  io.Closer
	from  waiting
	lines *bufio.Reader // nil: nothing is buffered
}

// Next reads one line.
func (c *connected) Next(context.Context) (Event, error) {
	for {
		line, err := c.read()
		switch {
		case errors.Is(err, errLongLine):
			return Event{}, err
		case err != nil:
			return Event{}, io.EOF // closed by either side, or lost, maybe within a line
		case len(line) > 1:
			return parseLine(line)
		}
	}
}

// read reads one line, with a buffer from the arrival of its first byte on.
func (c *connected) read() ([]byte, error) {
	if c.lines == nil {
		if err := c.from.wait(); err != nil {
			return nil, err
		}
		c.lines = buffers.Get().(*bufio.Reader)
		c.lines.Reset(&c.from)
	}
	line, err := readLine(c.lines)
	if err != nil || c.lines.Buffered() == 0 {
		c.lines.Reset(nil)
		buffers.Put(c.lines)
		c.lines = nil
	}
	return line, err
}

// waiting is a reader that can wait for its first byte.
type waiting struct {
	io.Reader
	first  [1]byte
	waited bool // first was read, but not passed on
}

// wait waits until there is something to read.
func (w *waiting) wait() error {
	_, err := io.ReadFull(w.Reader, w.first[:])
	w.waited = err == nil
	return err
}

// Read reads, beginning with the byte that wait has read.
func (w *waiting) Read(p []byte) (int, error) {
	if w.waited && len(p) > 0 {
		p[0], w.waited = w.first[0], false
		return 1, nil
	}
	return w.Reader.Read(p)
}

// Covers knows nothing.
func (c *connected) Covers(string) bool { return false }

// Contact has nothing to add to Request.Active.
func (c *connected) Contact() time.Time { return time.Time{} }

// Close ends the watch.
func (c *connected) Close() { _ = c.body.Close() }

// activeReader calls a function after each read.
type activeReader struct {
	io.Reader
	active func()
}

// Read reads, and says so.
func (r *activeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.active()
	}
	return n, err
}
