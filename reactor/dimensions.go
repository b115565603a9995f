package reactor

import "github.com/kopf-wasm/kopf/reactor/selectors"

// dimension is what one stream is for: a resource, in a namespace or everywhere.
type dimension struct {
	resource  selectors.Resource
	namespace string // empty: everywhere
	peering   bool   // to meet other operators, not to be handled
}

func (d dimension) key() dimensionKey { return dimensionKey{d.resource.Key(), d.namespace, d.peering} }

// dimensionKey identifies a dimension.
type dimensionKey struct {
	resource  selectors.Key
	namespace string
	peering   bool
}
