package host

import (
	"bytes"
	"io"
	"sync"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Limits of output, in bytes.
const (
	maxLine   = 64 << 10    // a longer line is split
	lineCost  = 16          // cost of a line in addition to its length
	shortLine = 1 << 10     // a line without an end that takes no memory of the pool
	longLine  = 2 * maxLine // what a longer one takes
)

// lineWriter collects the output of an instance to one stream, and passes on whole lines.
// Each line is one write, with escaped control characters.
type lineWriter struct {
	out   *lockedWriter
	limit *outputLimit
	pool  *MemoryPool // counts a long line until its end, which an instance that waits may never write
	line  []byte
	held  int // bytes of the pool
}

func (w *lineWriter) write(data []byte) {
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
func (w *lineWriter) add(data []byte) {
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
func (w *lineWriter) flush() {
	if w.limit.allow(len(w.line)) {
		w.out.Write(append(legible.AppendLine(nil, w.line), '\n'))
	}
	if w.line = w.line[:0]; cap(w.line) > shortLine {
		w.line = nil
	}
	w.pool.Give(w.held)
	w.held = 0
}

// end passes on a line that has no end yet.
func (w *lineWriter) end() {
	if len(w.line) > 0 {
		w.flush()
	}
}

// lockedWriter makes a writer safe for many instances. It drops what it cannot write,
// because a closed pipe is not a failure of the guest.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(line)
}
