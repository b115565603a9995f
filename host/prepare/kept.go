package prepare

// What an engine keeps of the declarations of a module, in bytes: measured, and rounded up. The code is not among them.
const (
	keptType      = 160
	keptParam     = 12  // of a type, and of its results
	keptImport    = 400 // with the names, without their texts
	keptFunc      = 120 // with its name, without its text
	keptGlobal    = 160
	keptExport    = 160
	keptReference = 48 // of an element segment
)

// Kept returns how much memory an engine keeps for a module besides its code, in bytes. It is many times the size of the module if that has
// little but declarations.
func (s *Source) Kept() int64 {
	m := s.m
	size := keptType*len(m.types) + keptImport*len(m.imports) + keptFunc*len(m.funcs) + keptGlobal*len(m.globals) + keptExport*len(m.exports) + len(m.names)
	for _, t := range m.types {
		size += keptParam * (len(t.params) + len(t.results))
	}
	for _, i := range m.imports {
		size += len(i.Module) + len(i.Name)
	}
	for _, e := range m.exports {
		size += 2 * len(e.Name)
	}
	return int64(size) + keptReference*int64(m.references) //nolint:gosec // at most maxReferences
}
