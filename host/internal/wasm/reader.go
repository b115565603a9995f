// Package wasm reads and writes the parts that everything in a WebAssembly module consists of: numbers, names and
// sections. It is the only reader of foreign modules: strict, and without allocations except for names.
//
// # Numbers
//
// A number has one encoding, the shortest. Two exceptions exist, for what linkers write:
//
//   - Where linkers leave room for relocation (sizes, counts, indices, offsets, 32-bit constants), a number may also
//     have exactly five bytes.
//   - The linker of Go writes the function of a call as a signed number: a zero byte may follow one with the bit 6 set.
//
// Any other over-long encoding is refused, and so are bits beyond the range of a number.
//
// See https://www.w3.org/TR/wasm-core-2/#integers%E2%91%A4
package wasm

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Errors of all reading functions.
var (
	// ErrMalformed says that bytes are not WebAssembly.
	ErrMalformed = errors.New("malformed module")

	// ErrFeature says that a module uses an unsupported feature of WebAssembly.
	ErrFeature = errors.New("unsupported WebAssembly feature")
)

// padded is the length of the encodings in which linkers leave room.
const padded = 5

// Reader reads Buf from Pos. After the first error, all reads return zero, and Pos is at the end, so
// that loops over the rest end.
type Reader struct {
	Buf []byte
	Pos int
	Err error
}

// Fail records that the bytes at the position are malformed.
func (r *Reader) Fail(format string, args ...any) { r.Stop(ErrMalformed, format, args...) }

// Feature records that the bytes at the position use an unsupported feature.
func (r *Reader) Feature(format string, args ...any) { r.Stop(ErrFeature, format, args...) }

// Stop records an error that wraps another one.
func (r *Reader) Stop(kind error, format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: %s (offset %#x)", kind, fmt.Sprintf(format, args...), r.Pos)
	}
	r.Pos = len(r.Buf)
}

// failAt is Fail for bytes that begin at another position.
func (r *Reader) failAt(pos int, text string) {
	if r.Err == nil {
		r.Pos = pos
	}
	r.Fail("%s", text)
}

// More reports whether unread bytes remain.
func (r *Reader) More() bool { return r.Err == nil && r.Pos < len(r.Buf) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.Pos >= len(r.Buf) {
		r.Fail("unexpected end")
		return 0
	}
	b := r.Buf[r.Pos]
	r.Pos++
	return b
}

// Take returns the next bytes, which are a part of Buf.
func (r *Reader) Take(n uint32) []byte {
	if uint64(n) > uint64(len(r.Buf)-r.Pos) {
		r.Fail("unexpected end")
		return nil
	}
	b := r.Buf[r.Pos : r.Pos+int(n) : r.Pos+int(n)]
	r.Pos += int(n)
	return b
}

// Forms of unsigned numbers, in addition to the shortest one.
type form int

const (
	shortest form = iota
	linked        // or five bytes
	called        // or five bytes, or that of a signed number
)

// U32 reads an unsigned number of 32 bits in its shortest encoding.
func (r *Reader) U32() uint32 {
	if r.Pos < len(r.Buf) && r.Buf[r.Pos] < 0x80 {
		r.Pos++
		return uint32(r.Buf[r.Pos-1])
	}
	return r.unsigned(shortest)
}

// Linked is U32 where linkers leave room: the encoding may have five bytes, too.
func (r *Reader) Linked() uint32 {
	if r.Pos < len(r.Buf) && r.Buf[r.Pos] < 0x80 {
		r.Pos++
		return uint32(r.Buf[r.Pos-1])
	}
	return r.unsigned(linked)
}

// Called is Linked for the function of a call: the encoding may be that of a signed number, too.
func (r *Reader) Called() uint32 { return r.unsigned(called) }

func (r *Reader) unsigned(f form) uint32 {
	begin, v, before := r.Pos, uint32(0), byte(0)
	for i := range padded {
		b := r.Byte()
		if i == padded-1 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << (7 * i)
		if b >= 0x80 {
			before = b
			continue
		}
		allowed := b != 0 || i == 0 || f >= linked && i == padded-1 || f == called && before&0x40 != 0
		if !allowed {
			r.failAt(begin, "over-long encoding of a number")
			return 0
		}
		return v
	}
	r.failAt(begin, "number of more than 32 bits")
	return 0
}

// S32 reads a signed number of 32 bits, as linkers write it: the encoding may have five bytes.
func (r *Reader) S32() int32 { return int32(r.signed(32, true)) }

// S33 reads a signed number of 33 bits in its shortest encoding.
func (r *Reader) S33() int64 { return r.signed(33, false) }

// S64 reads a signed number of 64 bits in its shortest encoding.
func (r *Reader) S64() int64 { return r.signed(64, false) }

func (r *Reader) signed(bits int, linked bool) int64 {
	begin, v := r.Pos, int64(0)
	most := (bits + 6) / 7 // bytes
	for i := range most {
		b := r.Byte()
		if i == most-1 && !fits(b, bits-7*i) {
			break
		}
		v |= int64(b&0x7f) << (7 * i)
		if b >= 0x80 {
			continue
		}
		if i > 0 && !(linked && i == padded-1) && r.Err == nil && needless(r.Buf[r.Pos-2], b) {
			r.failAt(begin, "over-long encoding of a number")
			return 0
		}
		if shift := 7 * (i + 1); b&0x40 != 0 && shift < 64 {
			v |= -1 << shift
		}
		return v
	}
	r.failAt(begin, fmt.Sprintf("number of more than %d bits", bits))
	return 0
}

// fits reports whether all bits beyond the range in the last possible byte of a signed number are copies of the sign.
func fits(b byte, bits int) bool {
	v := int8(b<<1) >> 1 // of seven bits
	return b < 0x80 && v>>(bits-1) == v>>7
}

// needless reports whether the last byte of a signed number only repeats the sign.
func needless(before, last byte) bool {
	return last == 0 && before&0x40 == 0 || last == 0x7f && before&0x40 != 0
}

// Count reads the length of a vector whose items take at least one byte each.
func (r *Reader) Count() uint32 {
	n := r.Linked()
	if uint64(n) > uint64(len(r.Buf)-r.Pos) {
		r.Fail("more items than bytes")
		return 0
	}
	return n
}

// Name reads a name.
func (r *Reader) Name() string {
	begin := r.Pos
	b := r.Take(r.U32())
	if !utf8.Valid(b) {
		r.failAt(begin, "name is not UTF-8")
		return ""
	}
	return string(b)
}
