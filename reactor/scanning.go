package reactor

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// scan asks the API server what resources there are. Groups that cannot be asked
// now, such as those of a broken aggregated server, are returned as an error
// beside the resources of all the others.
//
// Kopf: kopf._cogs.clients.scanning (v1.45).
func scan(client discovery.ServerResourcesInterface) ([]selectors.Resource, error) {
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discovering the resources: %w", err)
	}
	preferred := map[schema.GroupVersion]bool{}
	for _, group := range groups {
		if version, err := schema.ParseGroupVersion(group.PreferredVersion.GroupVersion); err == nil {
			preferred[version] = true
		}
	}
	var resources []selectors.Resource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		resources = append(resources, resourcesOf(version, preferred[version], list.APIResources)...)
	}
	return resources, err
}

// resourcesOf gathers the resources of one version with their subresources, which
// are listed beside them.
func resourcesOf(version schema.GroupVersion, preferred bool, listed []metav1.APIResource) []selectors.Resource {
	subresources := map[string][]string{}
	for _, r := range listed {
		if name, sub, ok := strings.Cut(r.Name, "/"); ok {
			subresources[name] = append(subresources[name], sub)
		}
	}
	var resources []selectors.Resource
	for _, r := range listed {
		if strings.Contains(r.Name, "/") {
			continue
		}
		resources = append(resources, selectors.Resource{
			Group: version.Group, Version: version.Version, Plural: r.Name,
			Kind: r.Kind, Singular: cmp.Or(r.SingularName, strings.ToLower(r.Kind)), // some servers leave it out
			Shortcuts: r.ShortNames, Categories: r.Categories,
			Subresources: subresources[r.Name], Namespaced: r.Namespaced, Preferred: preferred, Verbs: r.Verbs,
		})
	}
	return resources
}
