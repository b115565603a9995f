// Package api defines the custom resources by which operators are declared to a host:
// WasmOperator in a namespace, and ClusterWasmOperator for several namespaces or the whole
// cluster. It holds the types, their decoding and their checks, and the manifests of the
// CustomResourceDefinitions.
//
// See docs/hosting.md.
package api

// The names of the API.
const (
	Group      = "hosting.kopf.dev"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Kind is a kind of declared operators.
type Kind string

// The kinds.
const (
	Namespaced Kind = "WasmOperator"        // serves its own namespace, as a service account of this namespace
	Cluster    Kind = "ClusterWasmOperator" // serves several namespaces, or the cluster
)

// Plural returns the name of the kind's resource.
func (k Kind) Plural() string {
	if k == Cluster {
		return "clusterwasmoperators"
	}
	return "wasmoperators"
}
