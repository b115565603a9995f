package dryrun

import (
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// collection identifies a resource.
type collection struct{ group, version, plural string }

// place is what a request is about.
type place struct {
	collection
	namespace   string // empty: all, or none
	name        string // empty: all objects
	subresource string
}

// key identifies an object.
type key struct {
	collection
	namespace, name string
}

// placeOf returns the place of a path; false for paths of no resource.
func placeOf(path string) (place, bool) {
	t, ok := apipath.Parse(path)
	return place{collection{t.Group, t.Version, t.Plural}, t.Namespace, t.Name, t.Subresource}, ok
}

func (p place) key() key { return key{p.collection, p.namespace, p.name} }

// keyOf identifies an object of a collection.
func (p place) keyOf(object dicts.Object) key {
	return key{p.collection, dicts.LookupString(object, "metadata", "namespace"), dicts.LookupString(object, "metadata", "name")}
}

// has reports whether an object is in a collection.
func (p place) has(k key) bool {
	return p.collection == k.collection && (p.namespace == "" || p.namespace == k.namespace)
}
