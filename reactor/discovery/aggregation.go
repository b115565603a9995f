package discovery

import (
	"encoding/json"
	"errors"
	"mime"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// accepted are the content types of documents, the best one first: all resources at once,
// in the versions that servers support, or the groups only.
const accepted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
	"application/json"

// isAggregated reports whether a document holds all resources at once.
func isAggregated(contentType string) bool {
	base, parameters, err := mime.ParseMediaType(contentType)
	return err == nil && base == "application/json" && parameters["g"] == "apidiscovery.k8s.io" &&
		(parameters["v"] == "v2" || parameters["v"] == "v2beta1") && parameters["as"] == "APIGroupDiscoveryList"
}

// groupList is the part of an APIGroupDiscoveryList that is needed here. It is equal in
// both versions, apidiscovery.k8s.io/v2 and v2beta1.
type groupList struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []groupVersion `json:"versions"`
	} `json:"items"`
}

type groupVersion struct {
	Version   string          `json:"version"`
	Freshness string          `json:"freshness"` // Current or Stale
	Resources []groupResource `json:"resources"`
}

type groupResource struct {
	Resource     string `json:"resource"`
	ResponseKind *struct {
		Kind string `json:"kind"`
	} `json:"responseKind"`
	Scope        string   `json:"scope"` // Cluster or Namespaced
	Singular     string   `json:"singularResource"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames"`
	Categories   []string `json:"categories"`
	Subresources []struct {
		Subresource string `json:"subresource"`
	} `json:"subresources"`
}

// errStale means that the aggregating server could not reach the server of a version.
var errStale = errors.New("its server does not answer")

// aggregated adds all resources of a document. The preferred version of a group is its
// first reachable version.
func (f *found) aggregated(body []byte) error {
	var list groupList
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	for _, group := range list.Items {
		preferred := true
		for _, v := range group.Versions {
			name := schema.GroupVersion{Group: group.Metadata.Name, Version: v.Version}
			if v.Freshness == "Stale" {
				f.failed[name] = errStale
				continue
			}
			for _, r := range v.Resources {
				if r.ResponseKind != nil && r.ResponseKind.Kind != "" { // nil: only subresources exist
					f.add(version{name, preferred}, r.resource())
				}
			}
			preferred = false
		}
	}
	return nil
}

// resource converts a resource; the caller sets the group and the version.
func (r groupResource) resource() selectors.Resource {
	var subresources []string
	for _, sub := range r.Subresources {
		subresources = append(subresources, sub.Subresource)
	}
	return selectors.Resource{
		Plural: r.Resource, Kind: r.ResponseKind.Kind, Singular: r.Singular, Shortcuts: r.ShortNames, Categories: r.Categories,
		Subresources: subresources, Namespaced: r.Scope == "Namespaced", Verbs: r.Verbs,
	}
}
