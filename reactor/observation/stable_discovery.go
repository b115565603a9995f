package observation

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// steady is what a scan has found, without what only seems to have changed since the
// last one:
//
//   - A group that cannot be asked now has the resources that it had: its streams go
//     on, or try to.
//   - A definition that is being deleted is no longer said to be patchable, though it
//     is: its objects may be waiting for their deletion handlers, and the definition
//     waits for them.
func steady(before, found []selectors.Resource, partial error) []selectors.Resource {
	known := make(map[selectors.Key]selectors.Resource, len(before))
	for _, r := range before {
		known[r.Key()] = r
	}
	all := slices.Clone(found)
	for i, r := range all {
		old, ok := known[r.Key()]
		if ok && patchable(old) && !patchable(r) && !slices.Contains(r.Verbs, "create") && slices.Contains(r.Verbs, "watch") {
			all[i].Verbs = old.Verbs
		}
	}
	var failed *discovery.Incomplete
	if !errors.As(partial, &failed) {
		return all
	}
	for _, r := range before {
		if _, ok := failed.Groups[schema.GroupVersion{Group: r.Group, Version: r.Version}]; ok {
			all = append(all, r)
		}
	}
	return all
}

func patchable(r selectors.Resource) bool { return slices.Contains(r.Verbs, "patch") }
