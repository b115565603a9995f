package prepare

// Source is a module that is taken apart.
type Source struct {
	m    *module
	bin  []byte
	code []span // the bodies of the functions; they are decoded by Prepare
}

// Parse takes a module apart by a strict grammar, without a look at the code. The module keeps a
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

// Imports lists what the module imports, in its order. It must not be changed.
func (s *Source) Imports() []Import { return s.m.imports }

// Exports lists what the module exports, in its order. It must not be changed.
func (s *Source) Exports() []Export { return s.m.exports }
