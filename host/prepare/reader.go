package prepare

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed is in the errors about bytes that are no WebAssembly.
var ErrMalformed = errors.New("malformed module")

// reader reads the binary format. The first error sticks: after it, all reads
// give zero, and pos stands at the end, so that loops over the rest end.
type reader struct {
	buf []byte
	pos int
	err error

	targets []uint32 // labels of the br_table that was read last
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
	r.pos = len(r.buf)
}

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.buf) }

func (r *reader) byte() byte {
	if r.pos >= len(r.buf) {
		r.fail("unexpected end")
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// bytes returns a part of the buffer, not a copy.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.buf)-r.pos) {
		r.fail("unexpected end")
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
//
// See https://www.w3.org/TR/wasm-core-2/#integers%E2%91%A4
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.fail("number too large")
	return 0
}

// signed reads a signed LEB128 number of at most so many bits.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.fail("number too large")
	return 0
}

// count reads the length of a vector whose items take at least one byte each.
func (r *reader) count() uint32 {
	n := r.u32()
	if uint64(n) > uint64(len(r.buf)-r.pos) {
		r.fail("more items than bytes")
		return 0
	}
	return n
}

// name reads a string.
func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail("name is not UTF-8")
		return ""
	}
	return string(b)
}

// since returns the bytes that were read since a position.
func (r *reader) since(start int) []byte { return r.buf[start:r.pos:r.pos] }
