package guest

import "unsafe"

// This file and code.go are the only ones of this package with unsafe: the border speaks of addresses in the memory
// of the module, and they have to be made of slices. Addresses become slices again
// through the table of given buffers, never by arithmetic.

// lent are the buffers that the host asked for and has not passed back yet. The
// table keeps them alive.
var lent = map[uint32][]byte{}

// latest is the one of them that was asked for last, mostly the only one. It is not in the table.
var latest struct {
	ptr uint32
	buf []byte // nil: none
}

// returned keeps the last answer alive until the next call of the host.
var returned []byte

// address is where a slice begins.
func address(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// alloc makes a buffer for data of the host.
func alloc(size uint32) uint32 {
	b := make([]byte, size, max(size, 1)) // empty slices have no address of their own
	if latest.buf != nil {
		lent[latest.ptr] = latest.buf
	}
	latest.ptr, latest.buf = address(b[:1:1]), b
	return latest.ptr
}

// take gets a buffer back from the host, which has filled it. Of a buffer that
// was never given, nothing is read.
//
//go:noinline // a copy in each export would be larger
func take(ptr, size uint32) []byte {
	var b []byte
	if latest.buf != nil && latest.ptr == ptr {
		b, latest.buf = latest.buf, nil
	} else {
		b = lent[ptr]
		delete(lent, ptr)
	}
	if uint64(size) > uint64(len(b)) {
		return nil
	}
	return b[:size]
}

// given is where an answer is, for the host.
func given(answer []byte) uint64 {
	returned = answer
	return uint64(address(answer))<<32 | uint64(len(answer))
}

// span is the place of a slice. The caller keeps the slice alive until the host has used it,
// by runtime.KeepAlive. (A function that takes the call as a value does not do: TinyGo has no
// values of imported functions.)
func span(b []byte) (ptr, size uint32) { return address(b), uint32(len(b)) }

// IsText tells whether a type is one of strings, of those that are strings or larger
// structs. Compilers know it already, and leave out what is behind the wrong answer.
func IsText[T any]() bool {
	var value T
	return unsafe.Sizeof(value) == unsafe.Sizeof("")
}

// textOf is a text of bytes that will not be changed.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf are the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
