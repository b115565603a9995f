package prepare

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// savedVersion changes whenever the rewriter makes other code out of the same
// module, or saves something else about it, so that what older versions saved is not used.
const savedVersion = "kopf prepared module 15\n"

// ErrSaved is the error of saved bytes that are broken, or from another version or module.
var ErrSaved = errors.New("not a saved module of this version")

// Save writes what Restore needs, to be kept on disk. The name identifies the module, as its
// digest does.
func (p *Prepared) Save(name string) []byte {
	content := wasm.AppendU32([]byte{boolByte(p.Cloneable)}, uint32(p.Globals))
	content = append(wasm.AppendU32(content, uint32(p.Overhead)), p.Shell...)
	sum := savedSum(name, content)
	out := append([]byte(savedVersion), sum[:]...)
	return append(out, content...)
}

// savedSum is the digest of what was saved of a module.
func savedSum(name string, content []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write(content)
	return [sha256.Size]byte(h.Sum(nil))
}

// Restore is Prepare for a module whose result was saved, with equal limits, but for the
// rewritten module itself. It does not look at the code again.
//
// Errors: ErrSaved, and those of Prepare that need no look at the code.
func (s *Source) Restore(saved []byte, name string, limits Limits) (*Prepared, error) {
	rest, ok := bytes.CutPrefix(saved, []byte(savedVersion))
	if !ok || len(rest) < sha256.Size {
		return nil, ErrSaved
	}
	content := rest[sha256.Size:]
	if sum := savedSum(name, content); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, ErrSaved
	}
	p, err := s.begin(limits)
	if err != nil {
		return nil, err
	}
	r := &wasm.Reader{Buf: content}
	p.Cloneable = r.Byte() == 1
	p.Globals, p.Overhead = int(r.U32()), int(r.U32())
	p.Shell = content[r.Pos:]
	return p, r.Err
}
