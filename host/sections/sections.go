// Package sections finds, adds and removes custom sections of modules, by their
// names. It is pure: bytes in, bytes out, and the rest of a module stays the same, byte for byte.
package sections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Find returns the content of the custom section of a name; nil if there is none.
// The content belongs to the module.
//
// Errors: no module, a section that does not end, or several of the name.
func Find(wasm []byte, name string) ([]byte, error) {
	found, err := custom(wasm, name)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) > 1:
		return nil, fmt.Errorf("there are %d of them", len(found))
	}
	return found[0].content, nil
}

// Remove returns the module without the custom sections of these names. It may be
// a part of the same memory.
//
// Errors: no module, or a section that does not end.
func Remove(wasm []byte, names ...string) ([]byte, error) {
	found, err := custom(wasm, names...)
	if err != nil {
		return nil, err
	}
	end := len(wasm) // what is at the end needs no copy
	for len(found) > 0 && found[len(found)-1].end == end {
		end = found[len(found)-1].begin
		found = found[:len(found)-1]
	}
	if len(found) == 0 {
		return wasm[:end:end], nil
	}
	out := make([]byte, 0, end)
	at := 0
	for _, s := range found {
		out = append(out, wasm[at:s.begin]...)
		at = s.end
	}
	return append(out, wasm[at:end]...), nil
}

// Append adds a custom section to a copy of the module.
func Append(wasm []byte, name string, content []byte) []byte {
	title := append(leb(len(name)), name...)
	size := leb(len(title) + len(content))
	out := make([]byte, 0, len(wasm)+1+len(size)+len(title)+len(content))
	out = append(append(out, wasm...), 0)
	out = append(append(out, size...), title...)
	return append(out, content...)
}

// section is a custom section.
type section struct {
	begin, end int // in the module
	content    []byte
}

// custom finds the custom sections of these names, in their order.
//
// See https://www.w3.org/TR/wasm-core-2/#sections%E2%91%A0
func custom(wasm []byte, names ...string) ([]section, error) {
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(wasm, []byte(header)) {
		return nil, errors.New("not a WebAssembly file")
	}
	var found []section
	for at := len(header); at < len(wasm); {
		begin := at
		size, body, ok := number(wasm, at+1)
		if !ok || size > len(wasm)-body {
			return nil, errors.New("the module ends in the middle of a section")
		}
		at = body + size
		if wasm[begin] != 0 {
			continue
		}
		length, name, ok := number(wasm[:at], body)
		if ok && length <= at-name && slices.Contains(names, string(wasm[name:name+length])) {
			found = append(found, section{begin: begin, end: at, content: wasm[name+length : at : at]})
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
