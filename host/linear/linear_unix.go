//go:build linux || darwin

package linear

import (
	"fmt"
	"syscall"
)

// Reserve makes a memory that can grow up to max bytes, and whose first min bytes can be used.
func Reserve(min, max int) (*Memory, error) {
	buf, err := syscall.Mmap(-1, 0, max, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of memory: %w", max, err)
	}
	m := &Memory{buf: buf, max: max}
	if err := m.commit(min); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// commit makes the first bytes usable; the system provides the last of them when they are touched.
func (m *Memory) commit(size int) error {
	if size <= m.committed {
		return nil
	}
	if m.used > 0 {
		m.clearRoom() // the memory grows into it, and must find zeros
	}
	if err := syscall.Mprotect(m.buf[m.committed:size], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		return fmt.Errorf("committing %d bytes of memory: %w", size, err)
	}
	m.committed = size
	if lazy := size - LazyRest; lazy > m.populated {
		populate(m.buf[m.populated:lazy])
		m.populated = lazy
	}
	return nil
}

func (m *Memory) release() {
	// The only possible error is an unknown address.
	_ = syscall.Munmap(m.buf)
}
