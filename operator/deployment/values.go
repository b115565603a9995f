package deployment

import (
	"errors"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Values returns the values of the chart charts/kopf that run modules by `kopf run` with the rights of Rights.
//
// # Errors
//
//   - Those of Rights.
//   - A module is no reference of a registry, or the operator is for a host, which has no chart of its own.
func (o *Operator) Values(modules []string) (dicts.Object, error) {
	if o.Hosted {
		return nil, errors.New("values are for the mode run of the chart: an operator of a host is a WasmOperator")
	}
	if err := published(modules); err != nil {
		return nil, err
	}
	all, err := o.rights()
	if err != nil {
		return nil, err
	}
	run := dicts.Object{"modules": dicts.List(modules), "peering": o.Peering, "allowWanted": o.wantsAny(), "admission": dicts.Object{"name": o.Admission}}
	if len(o.Namespaces) == 0 {
		run["clusterwide"] = true
	} else {
		run["namespaces"] = dicts.List(o.Namespaces)
	}
	rules := dicts.Object{"cluster": all.objects("")}
	namespaced := dicts.Object{}
	for namespace := range all {
		if namespace != "" {
			namespaced[namespace] = all.objects(namespace)
		}
	}
	rules["namespaces"] = namespaced
	values := dicts.Object{"mode": "run", "fullnameOverride": o.Name, "replicas": max(o.Replicas, 1), "operator": run, "rules": rules}
	if o.Shared {
		values["shared"] = true
	}
	if len(o.Config) > 0 {
		values["args"] = dicts.List(o.configFlags())
	}
	return values, nil
}
