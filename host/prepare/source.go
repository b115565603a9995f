package prepare

// Source is a decoded module, except for its code.
type Source struct {
	m    *module
	bin  []byte
	code []span // the bodies of the functions; they are decoded by Prepare
}

// Parse decodes a module, except for its code, by a strict grammar. The module keeps a
// reference to the bytes.
//
// Errors: ErrMalformed, ErrFeature, ErrLimit.
func Parse(bin []byte) (*Source, error) {
	m, code, err := parse(bin)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(m.types)) // many functions have the same type
	text := func(kind byte, typ uint32) string {
		if kind != kindFunc {
			return kindNames[kind]
		}
		if texts[typ] == "" {
			texts[typ] = m.types[typ].String()
		}
		return texts[typ]
	}
	for i := range m.imports {
		m.imports[i].Type = text(kindFunc, m.imports[i].typ)
	}
	for i := range m.exports {
		e := &m.exports[i]
		typ := uint32(0)
		if e.kind == kindFunc {
			typ = m.typeOf(e.index)
		}
		e.Type = text(e.kind, typ)
	}
	return &Source{m: m, bin: bin, code: code}, nil
}

// Imports returns the imports of the module, in its order. Do not change the result.
func (s *Source) Imports() []Import { return s.m.imports }

// Exports returns the exports of the module, in its order. Do not change the result.
func (s *Source) Exports() []Export { return s.m.exports }
