// Package selectors decides which resources and namespaces of a cluster an operator
// serves. It matches the selectors of handlers with the discovered resources. It is pure;
// package discovery makes the requests.
//
// Kopf: kopf._cogs.structs.references, kopf._core.reactor.observation (v1.45).
package selectors

import (
	"errors"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// Resource is one resource of the API in one version, as discovery describes it.
//
// Kopf: kopf.Resource (v1.45).
type Resource struct {
	Group        string   // empty for the core API
	Version      string   // v1, v1beta1
	Plural       string   // the name in URLs
	Kind         string   // the name in manifests
	Singular     string   // the lower-case kind if the API has none
	Shortcuts    []string // short names, as in kubectl
	Categories   []string // such as all
	Subresources []string // such as status, scale
	Namespaced   bool     // false: cluster-scoped
	Preferred    bool     // whether this is the version that the API prefers
	Verbs        []string // the verbs that the API supports, regardless of permissions
}

// Key identifies a resource uniquely in a cluster.
type Key struct {
	Group, Version, Plural string
}

// These are errors of URL: the API has no such requests.
var (
	ErrNoName      = errors.New("a subresource belongs to an object: its name is required")
	ErrNamespaced  = errors.New("an object of a namespaced resource cannot be addressed without its namespace")
	ErrClusterWide = errors.New("a cluster-scoped resource has no namespaces")
)

// Key returns the key of the resource.
func (r Resource) Key() Key { return Key{r.Group, r.Version, r.Plural} }

// String returns the name with version and group, such as kopfexamples.v1.kopf.dev.
func (r Resource) String() string {
	return strings.Trim(r.Plural+"."+r.Version+"."+r.Group, ".")
}

// Info returns what handlers get as the resource of their object. It shares the memory of the
// resource, so the caller must not change it.
func (r *Resource) Info() *abi.ResourceInfo { return (*abi.ResourceInfo)(r) }

// URL returns the API path of an object (with a name), or of all objects in a namespace or
// in the cluster (without a name). The subresource may be unknown.
//
// Errors: ErrNoName, ErrNamespaced, ErrClusterWide, and those of apipath.Of.
func (r Resource) URL(namespace, name, subresource string) (apipath.Path, error) {
	switch {
	case subresource != "" && name == "":
		return "", ErrNoName
	case !r.Namespaced && namespace != "":
		return "", ErrClusterWide
	case r.Namespaced && namespace == "" && name != "":
		return "", ErrNamespaced
	}
	return apipath.Of(apipath.Target{
		Group: r.Group, Version: r.Version, Namespace: namespace, Plural: r.Plural, Name: name, Subresource: subresource,
	})
}

// HasStatus reports whether the status is a subresource.
func (r *Resource) HasStatus() bool { return slices.Contains(r.Subresources, "status") }

// APIVersion returns the group and version as objects of the resource name them.
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}
