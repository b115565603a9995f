package wire

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// writer writes the answer to one request.
type writer struct {
	conn   *conn
	body   *body // of the request
	header http.Header
	code   int
	text   []byte // of an answer without Content-Length
	left   int64  // of an answer with it
	begun  bool   // its head is written
	close  bool   // the connection ends after it
	err    error
}

// Completes reports whether answers of a writer are complete when they are written, if they have a Content-Length. Another goroutine
// may then answer while the handler computes on, with the header Connection: close, and call End.
func Completes(w http.ResponseWriter) bool {
	_, ok := w.(*writer)
	return ok
}

// End ends the connection of a writer after its answer, so that it does not count while the handler computes on.
func End(w http.ResponseWriter) { _ = w.(*writer).conn.Close() } // the client may have closed it

// HasBody reports whether the whole body of the request that a writer answers has come.
func HasBody(w http.ResponseWriter) bool {
	own, ok := w.(*writer)
	return ok && own.body.left <= int64(own.conn.in.Buffered())
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(code int) {
	if w.code == 0 && code >= http.StatusOK {
		w.code = code
	}
}

// SetReadDeadline is for http.ResponseController.
func (w *writer) SetReadDeadline(t time.Time) error { return w.conn.SetReadDeadline(t) }

// SetWriteDeadline is for http.ResponseController.
func (w *writer) SetWriteDeadline(t time.Time) error { return w.conn.SetWriteDeadline(t) }

// errLength is the error of answers that are longer than they say.
var errLength = errors.New("the answer is longer than its Content-Length")

// Write writes a part of the answer. An answer without Content-Length is kept until the handler returns.
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !w.begun && w.header["Content-Length"] == nil {
		w.text = append(w.text, p...)
		return len(p), nil
	}
	if !w.begun {
		w.begin(p)
	}
	if w.err == nil && int64(len(p)) > w.left {
		w.err = errLength
	}
	if w.err != nil {
		return 0, w.err
	}
	w.left -= int64(len(p))
	w.send(p)
	return len(p), w.err
}

// finish ends the answer when the handler has returned.
func (w *writer) finish() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
		w.header.Set("Content-Length", strconv.Itoa(len(w.text)))
		w.begin(w.text)
		w.left = 0
		w.send(w.text)
	}
	if w.left > 0 {
		w.close = true
	}
	return w.err
}

// begin makes the head of an answer. It gets the beginning of the text.
func (w *writer) begin(text []byte) {
	w.begun = true
	w.left, w.err = strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
	if w.header["Content-Type"] == nil {
		w.header.Set("Content-Type", http.DetectContentType(text))
	}
	w.body.skip()
	w.close = w.body.left > 0 || w.conn.server.closing.Load() || strings.EqualFold(w.header.Get("Connection"), "close")
	if w.close {
		w.header.Set("Connection", "close")
	}
	out := appender(append(w.conn.out[:0], "HTTP/1.1 "...))
	out = append(strconv.AppendInt(out, int64(w.code), 10), ' ')
	out = append(append(out, http.StatusText(w.code)...), "\r\nDate: "...)
	out = append(time.Now().UTC().AppendFormat(out, http.TimeFormat), "\r\n"...)
	_ = w.header.Write(&out) // appends
	w.conn.out = append(out, "\r\n"...)
}

// together is the size of a text that is sent together with the head: the size of a record of TLS.
const together = 16 << 10

// roomForAnswer is the largest room for answers that a connection keeps. Most answers take a third of it.
const roomForAnswer = 1 << 10

// send sends text, and the head before it.
func (w *writer) send(text []byte) {
	out := w.conn.out
	w.conn.out = out[:0]
	switch {
	case w.err != nil:
		return
	case len(out) > 0 && len(text) <= together:
		out = append(out, text...)
		text = nil
		if cap(out) <= roomForAnswer {
			w.conn.out = out[:0]
		}
	}
	if len(out) > 0 {
		_, w.err = w.conn.Write(out)
	}
	if w.err == nil && len(text) > 0 {
		_, w.err = w.conn.Write(text)
	}
}

// appender is the end of a text.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

func (a *appender) WriteString(p string) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
