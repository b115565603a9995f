package stores

// MultiDiffBase keeps the essence in several storages: it writes all of them, and reads the
// first one with an essence.
//
// Kopf: kopf.MultiDiffBaseStorage.
type MultiDiffBase []DiffBaseStorage

var _ DiffBaseStorage = MultiDiffBase{}

// Build extracts the essence. Each storage builds its essence from the essence of the
// previous one.
func (m MultiDiffBase) Build(body Object, extraFields []Path) (Object, error) {
	essence, err := BuildEssence(body, extraFields, nil)
	for _, s := range m {
		if err != nil {
			break
		}
		essence, err = s.Build(essence, extraFields)
	}
	return essence, err
}

// Fetch reads from the first storage that has an essence.
func (m MultiDiffBase) Fetch(body Object) (Object, error) {
	for _, s := range m {
		if essence, err := s.Fetch(body); essence != nil || err != nil {
			return essence, err
		}
	}
	return nil, nil
}

// Store writes to all storages.
func (m MultiDiffBase) Store(body Object, patch *Patch, essence Object) error {
	for _, s := range m {
		if err := s.Store(body, patch, essence); err != nil {
			return err
		}
	}
	return nil
}
