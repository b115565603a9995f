package deployment

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// roles returns the roles and their bindings: first those of the cluster, then those of the namespaces.
func (o *Operator) roles(all rights) []dicts.Object {
	var objects []dicts.Object
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		kind := "Role"
		if namespace == "" {
			kind = "ClusterRole"
		}
		rules := all.objects(namespace)
		metadata := o.metadata(namespace)
		objects = append(objects,
			dicts.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "rules": rules},
			dicts.Object{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind + "Binding", "metadata": metadata,
				"roleRef":  dicts.Object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]},
				"subjects": []any{dicts.Object{"kind": "ServiceAccount", "name": o.Name, "namespace": o.Namespace}},
			},
		)
	}
	return objects
}

// objects returns the rules for a namespace, or for the cluster, as a role has them.
func (r rights) objects(namespace string) []any {
	rules := []any{}
	for _, one := range merged(r[namespace]) {
		rules = append(rules, one.object())
	}
	return rules
}

// merged joins rules of one group with the same verbs, and sorts them, so that equal operators have equal manifests.
func merged(rules []rule) []rule {
	var all []rule
	for _, r := range rules {
		r.verbs = slices.Sorted(slices.Values(r.verbs)) // a copy: rules share verbs with the registrations
		same := func(m rule) bool {
			return m.group == r.group && slices.Equal(m.verbs, r.verbs) && slices.Equal(m.names, r.names)
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].resources = append(all[i].resources, r.resources...)
		} else {
			r.resources = slices.Clone(r.resources)
			all = append(all, r)
		}
	}
	for i := range all {
		slices.Sort(all[i].resources)
		all[i].resources = slices.Compact(all[i].resources)
	}
	slices.SortStableFunc(all, func(a, b rule) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resources[0], b.resources[0]), cmp.Compare(strings.Join(a.verbs, ","), strings.Join(b.verbs, ",")))
	})
	return all
}
