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
//
// # Caveats
//
//   - After Free, any use of a slice of it ends the process.
type Memory struct {
	buf       []byte // all that is reserved; nil after Free
	committed int    // bytes at its beginning that can be used
}

// Reallocate makes the memory so large, and returns all of it; nil if it cannot.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buf)) || m.commit(int(size)) != nil {
		return nil
	}
	return m.buf[:size:size]
}

// Free gives everything back. It may be called again.
func (m *Memory) Free() {
	if m.buf != nil {
		m.release()
		m.buf, m.committed = nil, 0
	}
}
