package watching

import "unique"

// known are the objects that exist as far as a stream knows, by Meta.Key. One of its maps is
// nil.
type known struct {
	own    map[string]Meta
	common map[string]unique.Handle[Meta] // the process keeps equal identities once
}

// newKnown returns an empty set. Common is for objects that many streams of the process know.
func newKnown(common bool) known {
	if common {
		return known{common: map[string]unique.Handle[Meta]{}}
	}
	return known{own: map[string]Meta{}}
}

func (k known) isNil() bool { return k.own == nil && k.common == nil }

func (k known) put(meta Meta) {
	if k.common == nil {
		k.own[meta.Key()] = meta
		return
	}
	handle := unique.Make(meta)
	key := handle.Value().Key()
	delete(k.common, key) // so that the key is a part of the new value, and the old one is freed
	k.common[key] = handle
}

// has reports whether the object is known in this version.
func (k known) has(meta Meta) bool {
	if k.common == nil {
		return k.own[meta.Key()] == meta
	}
	handle, ok := k.common[meta.Key()]
	return ok && handle.Value() == meta
}

func (k known) remove(key string) {
	delete(k.own, key)
	delete(k.common, key)
}

// without returns the objects that are not in a set of keys.
func (k known) without(keys map[string]struct{}) []Meta {
	var missing []Meta
	for key, meta := range k.own {
		if _, ok := keys[key]; !ok {
			missing = append(missing, meta)
		}
	}
	for key, handle := range k.common {
		if _, ok := keys[key]; !ok {
			missing = append(missing, handle.Value())
		}
	}
	return missing
}
