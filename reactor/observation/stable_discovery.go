package observation

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// steady returns the result of a scan without apparent changes since the last one:
//
//   - A group that cannot be read now keeps its resources, so that their streams continue
//     or keep trying.
//   - Discovery no longer reports resources as patchable while their definition is being
//     deleted, though they are. They stay patchable: the definition waits for its objects,
//     and these may wait for their deletion handlers.
func steady(before, found []selectors.Resource, partial error) []selectors.Resource {
	known := make(map[selectors.Key]selectors.Resource, len(before))
	for _, r := range before {
		known[r.Key()] = r
	}
	all, own := found, false // found is shared with other operators
	for i, r := range found {
		old, ok := known[r.Key()]
		if ok && patchable(old) && !patchable(r) && !slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "watch") {
			if !own {
				all, own = slices.Clone(found), true
			}
			all[i].Verbs = old.Verbs
		}
	}
	var failed *discovery.Incomplete
	if !errors.As(partial, &failed) {
		return all
	}
	for _, r := range before {
		if _, ok := failed.Groups[schema.GroupVersion{Group: r.Group, Version: r.Version}]; ok {
			all = append(all[:len(all):len(all)], r)
		}
	}
	return all
}

func patchable(r selectors.Resource) bool { return slices.Contains(r.Verbs, "patch") }
