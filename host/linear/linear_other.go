//go:build !linux && !darwin

package linear

// Reserve makes a memory that can grow up to max bytes, and whose first min bytes can be used.
func Reserve(min, max int) (*Memory, error) {
	return &Memory{buf: make([]byte, max), max: max, committed: min}, nil
}

// commit has nothing to do: all memory is the Go runtime's.
func (m *Memory) commit(size int) error {
	m.resize(max(m.committed, size))
	return nil
}

func (m *Memory) release() {}
