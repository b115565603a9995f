//go:build linux || darwin

package linear

import (
	"fmt"
	"syscall"
)

// Reserve makes a memory that can grow up to max bytes, and whose first min bytes can be used.
//
// Errors: ErrMappings; those of the system.
func Reserve(min, max int) (*Memory, error) { return reserve(min, max, mappingsOfMemory()) }

// mappingsOfMemory is how many mappings a reservation takes: one, or what is in use and the rest.
func mappingsOfMemory() int64 {
	if reservesOpen {
		return 1
	}
	return 2
}

func reserve(min, max int, mapped int64) (*Memory, error) {
	if err := takeMappings(mapped); err != nil {
		return nil, err
	}
	access := syscall.PROT_NONE
	if reservesOpen {
		access = syscall.PROT_READ | syscall.PROT_WRITE
	}
	buf, err := syscall.Mmap(-1, 0, max, access, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		giveMappings(mapped)
		return nil, fmt.Errorf("reserving %d bytes of memory: %w", max, err)
	}
	withoutHugePages(buf)
	m := &Memory{buf: buf, max: max, mapped: mapped}
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
	if err := open(m.buf[m.committed:size]); err != nil {
		return fmt.Errorf("committing %d bytes of memory: %w", size, err)
	}
	m.resize(size)
	if lazy := size - LazyRest; lazy > m.populated {
		populate(m.buf[m.populated:lazy])
		m.populated = lazy
	}
	return nil
}

// open makes a part of a reservation accessible, if it is not.
func open(b []byte) error {
	if reservesOpen {
		return nil
	}
	return syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE)
}

func (m *Memory) release() {
	// The only possible error is an unknown address.
	_ = syscall.Munmap(m.buf)
	giveMappings(m.mapped)
}
