// Package linear holds the memories of instances: address space that is reserved
// once and committed as the guest grows, so that growing never copies; and, where
// the system can, copies of an image that share its pages until they are written.
package linear

import "errors"

// ErrUnsupported says that the system has no images.
var ErrUnsupported = errors.New("copy-on-write images are not supported on this system")

// Memory is the memory of one instance. It implements LinearMemory of wazero.
//
// # Guarantees
//
//   - The address does not change.
//   - What is new is zero.
//   - On Linux, the system still has to provide at most LazyImage and LazyRest
//     bytes of it: code that touches memory for the first time waits for the system, page by
//     page, and nothing can interrupt that.
//
// # Caveats
//
//   - After Free, any use of a slice of it ends the process.
type Memory struct {
	buf       []byte // all that is reserved; nil after Free
	max       int    // what can be used of it
	committed int    // bytes at its beginning that can be used
	mapped    int64  // mappings of the process that it takes
	populated int    // up to here the system was asked to provide what is not lazy

	image  *Image // that it is a clone of, as long as it can be folded
	folded int    // bytes behind what is committed, in which it is kept; 0: it is not folded
	room   int    // where there was room for that the last time; 0: nowhere yet
	used   int    // bytes there that may not be zero
}

// How much of a memory is provided when it is touched, and not before: of an image
// the beginning, and of what a memory has beyond its image the end. The system takes one or
// two microseconds for a page, so that this is 3 ms, once. What compilers
// make needs no more; where a memory is larger, copies of it cost more.
const (
	LazyImage = 6 << 20
	LazyRest  = 2 << 20
)

// Reallocate makes the memory so large, and returns all of it; nil if it cannot.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > uint64(m.max) || m.commit(int(size)) != nil {
		return nil
	}
	return m.buf[:size:size]
}

// Free gives everything back. It may be called again.
func (m *Memory) Free() {
	if m.buf != nil {
		m.release()
		m.buf, m.max, m.committed, m.image, m.folded, m.used = nil, 0, 0, nil, 0, 0
	}
}
