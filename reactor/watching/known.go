package watching

import "unique"

// Keeping is what a stream remembers of its objects, to notice those that disappear while no
// watch is open.
type Keeping int

const (
	// Identities of the objects. Each object that has disappeared is reported as deleted.
	Identities Keeping = iota

	// CommonIdentities are Identities for streams that all operators of the process have: equal
	// identities are kept once. Such a stream has no successor: see Known.
	CommonIdentities

	// Sum is one number for all objects. If a listing has other objects than expected, the
	// stream reports one deletion without an identity. Such a stream has no successor, either.
	Sum
)

// known are the objects that exist as far as a stream knows, by Meta.Key. All but one of its
// fields are nil.
type known struct {
	own    Objects
	common map[string]unique.Handle[Meta] // the process keeps equal identities once
	sum    *sum
}

// newKnown returns an empty set.
func newKnown(of Keeping) known {
	switch of {
	case CommonIdentities:
		return known{common: map[string]unique.Handle[Meta]{}}
	case Sum:
		return known{sum: &sum{}}
	case Identities:
	}
	return known{own: Objects{}}
}

func (k known) isNil() bool { return k.own == nil && k.common == nil && k.sum == nil }

// isEmpty reports whether no object is known, so that none can be missing.
func (k known) isEmpty() bool { return len(k.own) == 0 && len(k.common) == 0 && k.sum == nil }

// put adds an object that was listed, or that an event has shown. Created says that it was
// created since the listing.
func (k known) put(meta Meta, created bool) {
	switch {
	case k.sum == nil && k.common == nil:
		k.own[meta.Key()] = newRecord(meta)
	case k.common != nil:
		handle := unique.Make(meta)
		key := handle.Value().Key()
		delete(k.common, key) // so that the key is a part of the new value, and the old one is freed
		k.common[key] = handle
	case created:
		k.sum.add(meta.Key())
	}
}

// has reports whether the object is known in this version.
func (k known) has(meta Meta) bool {
	if k.common == nil {
		return k.own[meta.Key()] == newRecord(meta)
	}
	handle, ok := k.common[meta.Key()]
	return ok && handle.Value() == meta
}

// includes reports whether the object is known in any version. Only Identities can tell.
func (k known) includes(key string) bool {
	_, ok := k.own[key]
	return ok
}

func (k known) remove(key string) {
	delete(k.own, key)
	delete(k.common, key)
	if k.sum != nil {
		k.sum.remove(key)
	}
}

// without returns the objects that are not in a set of keys.
func (k known) without(keys map[string]struct{}) []Meta {
	var missing []Meta
	for key, r := range k.own {
		if _, ok := keys[key]; !ok {
			missing = append(missing, r.meta(key))
		}
	}
	for key, handle := range k.common {
		if _, ok := keys[key]; !ok {
			missing = append(missing, handle.Value())
		}
	}
	if k.sum != nil && k.sum.replace(keys) {
		missing = append(missing, Meta{})
	}
	return missing
}
