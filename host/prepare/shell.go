package prepare

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// codeSection is the custom section of a shell with the digest of its module.
const codeSection = reserved + "code"

// Shell is a prepared module without its code: all that an engine needs to look at if it
// has machine code of the module. Its functions trap. Shells of different modules differ.
//
// Errors: ErrMalformed.
func Shell(wasm []byte) ([]byte, error) {
	if !bytes.HasPrefix(wasm, magicCore) {
		return nil, fmt.Errorf("%w: not a WebAssembly module", ErrMalformed)
	}
	out := append(make([]byte, 0, len(wasm)/4), magicCore...)
	r := &reader{buf: wasm, pos: len(magicCore)}
	for r.more() {
		begin := r.pos
		id := r.byte()
		content := r.bytes(r.u32())
		if id != secCode {
			out = append(out, wasm[begin:r.pos]...)
			continue
		}
		functions := &reader{buf: content}
		n := functions.count()
		out = appendVector(out, secCode, int(n), bytes.Repeat([]byte{3, 0, opUnreachable, opEnd}, int(n)))
		r.err = functions.err
	}
	sum := sha256.Sum256(wasm)
	return appendSection(out, 0, append(appendName(nil, codeSection), sum[:]...)), r.err
}
