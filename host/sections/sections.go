// Package sections finds, adds and removes custom sections of modules by name. It is pure:
// bytes in, bytes out. The rest of a module stays unchanged, byte for byte.
package sections

import (
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// Find returns the content of the custom section with a name, or nil. The content shares
// memory with the module.
//
// Errors: not a module, malformed or misplaced sections, or several sections with the name.
func Find(bin []byte, name string) ([]byte, error) {
	found, err := custom(bin, name)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %d custom sections of the name %s; at most 1", wasm.ErrMalformed, len(found), name)
	}
	return found[0].content, nil
}

// Remove returns the module without the custom sections with these names. The result may
// share memory with the input.
//
// Errors: not a module, or malformed or misplaced sections.
func Remove(bin []byte, names ...string) ([]byte, error) {
	found, err := custom(bin, names...)
	if err != nil {
		return nil, err
	}
	end := len(bin) // sections at the end are cut off without a copy
	for len(found) > 0 && found[len(found)-1].end == end {
		end = found[len(found)-1].begin
		found = found[:len(found)-1]
	}
	if len(found) == 0 {
		return bin[:end:end], nil
	}
	out := make([]byte, 0, end)
	at := 0
	for _, s := range found {
		out = append(out, bin[at:s.begin]...)
		at = s.end
	}
	return append(out, bin[at:end]...), nil
}

// Append adds a custom section to a copy of the module.
func Append(bin []byte, name string, content []byte) []byte {
	title := wasm.AppendName(nil, name)
	out := make([]byte, 0, len(bin)+len(title)+len(content)+16)
	out = append(append(out, bin...), wasm.SectionCustom)
	out = wasm.AppendU32(out, uint32(len(title)+len(content)))
	return append(append(out, title...), content...)
}

// section is a custom section.
type section struct {
	begin, end int // offsets in the module
	content    []byte
}

// custom returns the custom sections with these names, in their order.
func custom(bin []byte, names ...string) ([]section, error) {
	var found []section
	err := wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID == wasm.SectionCustom && slices.Contains(names, s.Name) {
			found = append(found, section{begin: s.Begin, end: s.End, content: r.Buf[r.Pos:s.End:s.End]})
		}
		r.Pos = s.End
		return nil
	})
	return found, err
}
