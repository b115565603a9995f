package output

import (
	"bytes"
	"io"
	"sync"

	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Limits of output, in bytes.
const (
	maxLine   = 64 << 10    // a longer line is split
	shortLine = 1 << 10     // a line without an end that takes no memory of the pool
	longLine  = 2 * maxLine // what a longer one takes
)

// LineCost is what a line costs of the limit in addition to its length, in bytes.
const LineCost = 16

// Lines collects the output of an instance to one stream, and passes on whole lines.
// Each line is one write, with escaped control characters.
type Lines struct {
	out   *Stream
	limit *Limit
	pool  *linear.Pool // counts a long line until its end, which an instance that waits may never write
	line  []byte
	held  int // bytes of the pool
}

// NewLines collects lines for a stream, within the limit of a module. The pool counts long lines that
// have no end yet.
func NewLines(out *Stream, limit *Limit, pool *linear.Pool) Lines {
	return Lines{out: out, limit: limit, pool: pool}
}

// Write adds output of the instance.
func (w *Lines) Write(data []byte) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			if w.add(data); len(w.line) >= maxLine {
				w.flush()
			}
			return
		}
		w.line = append(w.line, data[:end]...)
		w.flush()
		data = data[end+1:]
	}
}

// add adds to a line without an end. If the pool has no room for a long one, it is split.
func (w *Lines) add(data []byte) {
	long := len(w.line)+len(data) > shortLine
	if long && w.held == 0 && w.pool.Take(longLine) == nil {
		w.held = longLine
	}
	w.line = append(w.line, data...)
	if long && w.held == 0 {
		w.flush()
	}
}

// flush passes on the line with its end, if the limit of output allows it.
func (w *Lines) flush() {
	if w.limit.Allow(len(w.line)) {
		w.out.Write(append(legible.AppendLine(nil, w.line), '\n'))
	}
	if w.line = w.line[:0]; cap(w.line) > shortLine {
		w.line = nil
	}
	w.pool.Give(w.held)
	w.held = 0
}

// End passes on a line that has no end yet.
func (w *Lines) End() {
	if len(w.line) > 0 {
		w.flush()
	}
}

// Stream makes a writer safe for many instances. It drops what it cannot write,
// because a closed pipe is not a failure of the guest.
type Stream struct {
	mu sync.Mutex
	to io.Writer
}

// NewStream makes a stream that leads to a writer.
func NewStream(to io.Writer) *Stream { return &Stream{to: to} }

// Write writes whole lines.
func (w *Stream) Write(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(line)
}
