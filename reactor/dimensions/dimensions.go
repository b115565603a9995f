// Package dimensions defines what a stream covers: a resource, in a namespace or
// everywhere.
//
// Kopf: kopf._core.reactor.orchestration (v1.45), where a dimension is a resource and a
// namespace.
package dimensions

import "github.com/kopf-wasm/kopf/reactor/selectors"

// Dimension is what one stream covers: a resource, in a namespace or everywhere.
type Dimension struct {
	Resource  selectors.Resource
	Namespace string // empty: everywhere
	Peering   bool   // the stream is for meeting other operators, not for handling objects
}

// Key returns the identity of the dimension.
func (d Dimension) Key() Key { return Key{d.Resource.Key(), d.Namespace, d.Peering} }

// Key identifies a dimension.
type Key struct {
	resource  selectors.Key
	Namespace string
	Peering   bool
}

// Overlaps reports whether two dimensions can have the same objects: those of one resource, in any of its versions.
func (k Key) Overlaps(other Key) bool {
	same := k.resource.Group == other.resource.Group && k.resource.Plural == other.resource.Plural && k.Peering == other.Peering
	return same && (k.Namespace == other.Namespace || k.Namespace == "" || other.Namespace == "")
}
