// Package linear provides the memories of instances. Address space is reserved once and
// committed as the guest grows, so growing never copies. Where the system supports it,
// memories are copies of an image that share pages until they are written.
package linear

import (
	"errors"
	"sync/atomic"
)

// ErrUnsupported says that the system has no images.
var ErrUnsupported = errors.New("copy-on-write images are not supported on this system")

// ErrClosed says that an image was closed.
var ErrClosed = errors.New("the image is closed")

// Memory is the memory of one instance. It implements LinearMemory of wazero.
//
// # Guarantees
//
//   - The address does not change.
//   - New memory is zero.
//   - On Linux, at most LazyImage and LazyRest bytes of it are not yet provided by the system.
//     Code that touches such memory for the first time waits for the system page by page,
//     without interruption.
//
// # Caveats
//
//   - After Free, any use of a slice of it ends the process.
type Memory struct {
	buf       []byte // the whole reservation; nil after Free
	max       int    // usable size of it
	committed int    // accessible bytes at its beginning
	mapped    int64  // number of mappings of the process that it takes
	populated int    // end of the memory that the system has been asked to provide

	total    *atomic.Int64 // see CountIn; nil: not counted
	pool     *Pool         // see Within; nil: no bound
	overhead int           // see Within
	refusal  error         // see Refusal
}

// Parts of a memory that are provided only when they are touched: the beginning of an image,
// and the end of the memory beyond the image. The system takes one to three microseconds per
// page, so code that touches all of them waits for up to 20 ms, once for each instance. That
// is the price of small clones: the image of a Python script has 16 MiB, of which a clone
// writes one. Compiled guests have less than 6 MiB. The parts of larger images beyond the
// limit are copied for each clone.
const (
	LazyImage = 24 << 20
	LazyRest  = 2 << 20
)

// CountIn adds the size of the memory to a total, in bytes, until Free. It must be called
// once, before the memory is used.
func (m *Memory) CountIn(total *atomic.Int64) {
	m.total = total
	total.Add(int64(m.committed))
}

// resize sets the number of accessible bytes.
func (m *Memory) resize(committed int) {
	if m.total != nil {
		m.total.Add(int64(committed - m.committed))
	}
	m.committed = committed
}

// Reallocate resizes the memory, and returns all of it, or nil if it cannot.
func (m *Memory) Reallocate(size uint64) []byte {
	m.refusal = nil
	if size > uint64(m.max) {
		return nil
	}
	more := max(int(size)-m.committed, 0)
	if m.refusal = m.pool.Take(more); m.refusal != nil {
		return nil
	}
	if m.commit(int(size)) != nil {
		m.pool.Give(more)
		return nil
	}
	return m.buf[:size:size]
}

// Refusal is the error of the pool if it refused the last growth; nil otherwise.
func (m *Memory) Refusal() error { return m.refusal }

// Free unmaps the memory. It may be called again.
func (m *Memory) Free() {
	if m.buf != nil {
		m.release()
		m.pool.Give(m.committed + m.overhead)
		m.pool.giveMappings(m.mapped)
		m.resize(0)
		m.buf, m.max = nil, 0
	}
}
