package extism

import (
	"cmp"
	"slices"
)

// spans are the freed parts of a kernel's arena, sorted by offset, and never adjacent.
type spans struct{ free []block }

// take finds room in the first span that is large enough.
func (s *spans) take(size uint64) (offset uint64, found bool) {
	at := slices.IndexFunc(s.free, func(b block) bool { return b.size >= size })
	if at < 0 {
		return 0, false
	}
	b := &s.free[at]
	offset = b.offset
	b.offset, b.size = b.offset+size, b.size-size
	if b.size == 0 {
		s.free = slices.Delete(s.free, at, at+1)
	}
	return offset, true
}

// give adds a span, and joins it with its neighbours. It returns the whole span, which
// dropLast may remove.
func (s *spans) give(b block) block {
	at, _ := slices.BinarySearchFunc(s.free, b.offset, func(b block, offset uint64) int { return cmp.Compare(b.offset, offset) })
	if at < len(s.free) && b.offset+b.size == s.free[at].offset {
		b.size += s.free[at].size
		s.free = slices.Delete(s.free, at, at+1)
	}
	if at > 0 && s.free[at-1].offset+s.free[at-1].size == b.offset {
		s.free[at-1].size += b.size
		return s.free[at-1]
	}
	s.free = slices.Insert(s.free, at, b)
	return b
}

// dropLast removes the span with the largest offset.
func (s *spans) dropLast() { s.free = s.free[:len(s.free)-1] }
