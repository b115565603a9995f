package declaration

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// section is a custom section with our name.
type section struct {
	begin, end int // in the module
	content    []byte
}

// custom finds the custom sections with our name.
//
// See https://www.w3.org/TR/wasm-core-2/#sections%E2%91%A0
func custom(wasm []byte) ([]section, error) {
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(wasm, []byte(header)) {
		return nil, fmt.Errorf("%w: not a WebAssembly module", ErrMalformed)
	}
	var found []section
	for at := len(header); at < len(wasm); {
		begin := at
		size, body, ok := number(wasm, at+1)
		if !ok || size > len(wasm)-body {
			return nil, fmt.Errorf("%w: the module ends in the middle of a section", ErrMalformed)
		}
		at = body + size
		if wasm[begin] != 0 {
			continue
		}
		length, name, ok := number(wasm[:at], body)
		if ok && length <= at-name && string(wasm[name:name+length]) == Section {
			found = append(found, section{begin: begin, end: at, content: wasm[name+length : at]})
		}
	}
	return found, nil
}

// number reads an unsigned number of at most 32 bits, and tells where it ends.
func number(wasm []byte, at int) (value, end int, ok bool) {
	if at >= len(wasm) {
		return 0, 0, false
	}
	v, n := binary.Uvarint(wasm[at:min(at+5, len(wasm))])
	if n <= 0 || v > 1<<32-1 {
		return 0, 0, false
	}
	return int(v), at + n, true
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
