package prepare

import (
	"bytes"
	"crypto/sha256"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// codeSection is the custom section of a shell with the digest of its module.
const codeSection = reserved + "code"

// Shell returns a prepared module without its code: the part that an engine needs if it
// has the machine code of the module. Its functions trap. Shells of different modules differ.
//
// Errors: ErrMalformed.
func Shell(prepared []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(prepared)/4), wasm.Magic...)
	err := wasm.Sections(prepared, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID != wasm.SectionCode {
			out = append(out, prepared[s.Begin:s.End]...)
			r.Pos = s.End
			return nil
		}
		n := int(r.Count())
		out = appendJoined(out, wasm.SectionCode, n, bytes.Repeat([]byte{3, 0, opUnreachable, opEnd}, n))
		if r.Err == nil {
			r.Pos = s.End
		}
		return nil
	})
	sum := sha256.Sum256(prepared)
	return wasm.AppendSection(out, wasm.SectionCustom, append(wasm.AppendName(nil, codeSection), sum[:]...)), err
}
