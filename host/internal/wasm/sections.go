package wasm

import (
	"bytes"
	"fmt"
)

// Ids of sections.
//
// See https://www.w3.org/TR/wasm-core-2/#sections%E2%91%A0
const (
	SectionCustom = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount

	sectionTag // of the exceptions proposal
)

// sections are the names of the sections, and their order in a module.
var sections = [...]struct {
	name  string
	place int
}{
	SectionCustom: {"custom", 0}, SectionType: {"type", 1}, SectionImport: {"import", 2}, SectionFunction: {"function", 3},
	SectionTable: {"table", 4}, SectionMemory: {"memory", 5}, SectionGlobal: {"global", 6}, SectionExport: {"export", 7},
	SectionStart: {"start", 8}, SectionElement: {"element", 9}, SectionDataCount: {"data count", 10}, SectionCode: {"code", 11},
	SectionData: {"data", 12},
}

// Magic is the beginning of a core module, including its version.
const Magic = "\x00asm\x01\x00\x00\x00"

const magicComponent = "\x00asm\x0d\x00\x01\x00"

// Section is a section of a module.
type Section struct {
	ID         byte
	Name       string // of a custom section
	Begin, End int    // in the module
}

// Sections reads the sections of a module in their order. The reader stands at the content of the section, for
// custom sections after the name, and must stand at its end afterwards, except for custom sections. It is valid until
// read returns.
//
// Errors: ErrMalformed, ErrFeature, and those of read.
func Sections(bin []byte, read func(s Section, r *Reader) error) error {
	if err := checkMagic(bin); err != nil {
		return err
	}
	last := 0
	r, content := &Reader{Buf: bin, Pos: len(Magic)}, &Reader{}
	for r.More() {
		s := Section{Begin: r.Pos}
		s.ID = r.Byte()
		size := r.Linked()
		begin := r.Pos
		if r.Take(size); r.Err != nil {
			return r.Err
		}
		s.End = r.Pos
		*content = Reader{Buf: bin[:s.End:s.End], Pos: begin}
		if err := s.check(&last); err != nil {
			return err
		}
		if s.ID == SectionCustom {
			s.Name = content.Name()
		}
		if content.Err == nil {
			if err := read(s, content); err != nil {
				return fmt.Errorf("%s section: %w", sections[s.ID].name, err)
			}
		}
		if content.Err == nil && s.ID != SectionCustom && content.Pos != s.End {
			content.Fail("bytes left")
		}
		if content.Err != nil {
			return fmt.Errorf("%s section: %w", sections[s.ID].name, content.Err)
		}
	}
	return r.Err
}

// check refuses an unknown section, and one that is out of order.
func (s Section) check(last *int) error {
	switch {
	case s.ID == sectionTag:
		return fmt.Errorf("%w: exceptions (tag section)", ErrFeature)
	case int(s.ID) >= len(sections):
		return fmt.Errorf("%w: unknown section %d (offset %#x)", ErrMalformed, s.ID, s.Begin)
	case s.ID == SectionCustom:
		return nil
	}
	place := sections[s.ID].place
	if place <= *last {
		return fmt.Errorf("%w: %s section twice or out of order (offset %#x)", ErrMalformed, sections[s.ID].name, s.Begin)
	}
	*last = place
	return nil
}

// checkMagic refuses content that is not a core module.
func checkMagic(bin []byte) error {
	begins := func(magic string) bool { return bytes.HasPrefix(bin, []byte(magic)) }
	switch {
	case begins(Magic):
		return nil
	case begins(magicComponent):
		return fmt.Errorf("%w: a WebAssembly component, not a core module", ErrFeature)
	case begins(Magic[:4]):
		return fmt.Errorf("%w: unknown version of the binary format", ErrMalformed)
	}
	return fmt.Errorf("%w: not a WebAssembly file%s", ErrMalformed, insteadOf(bin))
}

// insteadOf describes a known format that is not a core module. It is empty for others.
func insteadOf(bin []byte) string {
	for _, known := range []struct{ begin, what string }{
		{"\x7fELF", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"\xcf\xfa\xed\xfe", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"MZ", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"!<arch>", ", but a native library"},
		{"(module", ", but WebAssembly as text"},
		{"\x1f\x8b", ", but a compressed file"},
	} {
		if bytes.HasPrefix(bin, []byte(known.begin)) {
			return known.what
		}
	}
	if len(bin) == 0 {
		return ": it is empty"
	}
	return ""
}
