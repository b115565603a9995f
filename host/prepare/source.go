package prepare

import "fmt"

// Source is a module that is taken apart.
type Source struct {
	m       *module
	imports []Import
	exports []Export
}

// Parse takes a module apart, without a look at the code. The module keeps a
// reference to the bytes.
//
// Errors: ErrMalformed, ErrFeature.
func Parse(bin []byte) (*Source, error) {
	m, err := parse(bin)
	if err != nil {
		return nil, err
	}
	s := &Source{m: m, imports: m.imports, exports: m.exports}
	for i := range s.imports {
		s.imports[i].Type = m.typeName(s.imports[i].kind, s.imports[i].index)
	}
	for i := range s.exports {
		e := &s.exports[i]
		if int(e.kind) >= len(kindNames) {
			return nil, fmt.Errorf("%w: export %s of an unknown kind", ErrMalformed, e.Name)
		}
		index := e.index
		if e.kind == kindFunc {
			index = m.typeOf(index)
		}
		e.Type = m.typeName(e.kind, index)
	}
	return s, nil
}

// Imports lists what the module imports, in its order. It must not be changed.
func (s *Source) Imports() []Import { return s.imports }

// Exports lists what the module exports, in its order. It must not be changed.
func (s *Source) Exports() []Export { return s.exports }

// typeName describes an import or an export; the index is that of a function's type.
func (m *module) typeName(kind byte, index uint32) string {
	if kind == kindFunc {
		return m.typeString(index)
	}
	return kindNames[kind]
}
