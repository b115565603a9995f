package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// Limits of a response, in bytes: of its head, and of what is read at once. Trailers have to fit
// into what is read at once.
const (
	maxHead    = 256 << 10
	readBuffer = 4 << 10
)

// These are the errors of responses.
var (
	errLongHead   = fmt.Errorf("the head of the response is longer than %d KiB", maxHead>>10)
	errSwitch     = errors.New("the server switches to another protocol without being asked (101)")
	errUnanswered = errors.New("the server has closed the connection without an answer")
)

var (
	readers  = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }} //nolint:gochecknoglobals // memory
	requests = sync.Pool{New: func() any { return &bytes.Buffer{} }}                      //nolint:gochecknoglobals // memory
)

// exchange is one request and its response, and the body of the response.
type exchange struct {
	t    *Transport
	c    *conn
	ctx  context.Context //nolint:containedctx // that of the request
	stop func() bool     // stops waiting for the end of the context

	from  source
	lines *bufio.Reader // reads from the source
	body  io.Reader
	keeps bool // the server keeps the connection open
	state atomic.Int32
}

// These are the states of an exchange.
const (
	open int32 = iota
	complete
	closed
)

// run sends the request and reads the head of the response.
func (e *exchange) run(r *http.Request, trace *httptrace.ClientTrace) (*http.Response, error) {
	e.stop = context.AfterFunc(e.ctx, e.c.interrupt)
	err := e.write(r)
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	if err != nil {
		return nil, e.failed(err)
	}
	e.lines = readers.Get().(*bufio.Reader)
	e.from = source{c: e.c, left: maxHead}
	e.lines.Reset(&e.from)
	rsp, err := e.head(r, trace)
	if err != nil {
		return nil, e.failed(err)
	}
	e.from.left, e.body, e.keeps = math.MaxInt64, rsp.Body, !rsp.Close
	if rsp.TLS = e.c.state; rsp.Body == http.NoBody {
		e.end(complete)
		return rsp, nil
	}
	rsp.Body = e
	return rsp, nil
}

// write sends the request by one write to the connection.
func (e *exchange) write(r *http.Request) error {
	buffer := requests.Get().(*bytes.Buffer)
	defer requests.Put(buffer)
	buffer.Reset()
	err := e.t.format(buffer, r)
	closeBody(r)
	if err == nil {
		_, err = e.c.Write(buffer.Bytes())
	}
	return err
}

// head reads the head of the response, after those of interim responses.
func (e *exchange) head(r *http.Request, trace *httptrace.ClientTrace) (*http.Response, error) {
	if _, err := e.lines.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = errUnanswered
		}
		return nil, err
	}
	if trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	for { // their heads count, too

		rsp, err := http.ReadResponse(e.lines, r)
		switch {
		case err != nil && e.from.left <= 0:
			return nil, errLongHead
		case err != nil:
			return nil, fmt.Errorf("reading the response: %w", err)
		case rsp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errSwitch
		case rsp.StatusCode >= http.StatusOK || rsp.StatusCode < http.StatusContinue:
			return rsp, nil
		}
	}
}

// failed ends the exchange, and returns its error: that of the context if it has ended.
func (e *exchange) failed(err error) error {
	e.end(closed)
	if e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return err
}

// Read reads the body of the response.
func (e *exchange) Read(p []byte) (int, error) {
	switch e.state.Load() {
	case complete:
		return 0, io.EOF
	case closed:
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := e.body.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		e.end(complete)
	default:
		err = e.failed(err)
	}
	return n, err
}

// Close ends the response. It closes the connection if the response is not complete.
func (e *exchange) Close() error {
	e.end(closed)
	return nil
}

// end ends the exchange once. A complete one returns its connection, unless the server has closed
// it, has sent more than the response, or the context has ended meanwhile.
func (e *exchange) end(as int32) {
	if !e.state.CompareAndSwap(open, as) {
		return
	}
	interrupted := !e.stop()
	if as == closed { // another goroutine may be reading, so the reader is not used again
		e.c.abort()
		return
	}
	keeps := e.keeps && !e.from.spent && !interrupted && e.lines.Buffered() == 0
	e.lines.Reset(nil)
	readers.Put(e.lines)
	if keeps {
		e.t.put(e.c)
	} else {
		e.c.abort()
	}
}

// source is the connection of an exchange within the limits of the response.
type source struct {
	c     *conn
	left  int64 // how much may be read for now
	spent bool  // a read has failed, so the connection has ended
}

// Read reads from the connection.
func (s *source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errLongHead
	}
	n, err := s.c.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	s.spent = s.spent || err != nil
	return n, err
}
