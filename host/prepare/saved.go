package prepare

import (
	"bytes"
	"crypto/sha256"
	"errors"
)

// savedVersion changes whenever the rewriter makes other code out of the same
// module, so that what older versions saved is not used.
const savedVersion = "kopf prepared module 5\n"

// ErrSaved is the error of saved bytes that are broken, or from another version.
var ErrSaved = errors.New("not a saved module of this version")

// Save writes what Restore needs, to be kept on disk.
func (p *Prepared) Save() []byte {
	content := appendU32([]byte{boolByte(p.Cloneable)}, uint32(p.Globals))
	content = append(content, p.Wasm...)
	sum := sha256.Sum256(content)
	out := append([]byte(savedVersion), sum[:]...)
	return append(out, content...)
}

// Restore is Prepare for a module whose result was saved, with equal limits. It
// does not look at the code again.
//
// Errors: ErrSaved, and those of Prepare that need no look at the code.
func (s *Source) Restore(saved []byte, limits Limits) (*Prepared, error) {
	rest, ok := bytes.CutPrefix(saved, []byte(savedVersion))
	if !ok || len(rest) < sha256.Size {
		return nil, ErrSaved
	}
	content := rest[sha256.Size:]
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, ErrSaved
	}
	p, err := s.begin(limits)
	if err != nil {
		return nil, err
	}
	r := &reader{buf: content}
	p.Cloneable = r.byte() == 1
	p.Globals = int(r.u32())
	p.Wasm = content[r.pos:]
	return p, r.err
}
