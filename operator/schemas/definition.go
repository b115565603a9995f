package schemas

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Definition says what a CustomResourceDefinition is made of.
type Definition struct {
	Plural, Version, Group string
	Kind                   string   // default: from the type of the spec, VolumeSpec or Volume
	Singular               string   // default: the kind in lower case
	ShortNames             []string // as in kubectl
	ClusterScoped          bool
	Spec                   string // the type of the spec
	Status                 string // the type of the status; empty: the status may have any fields
}

var errResource = errors.New("want PLURAL.VERSION.GROUP, like volumes.v1.example.com")

// ParseResource splits the name of a resource: volumes.v1.example.com.
func ParseResource(name string) (Definition, error) {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 {
		return Definition{}, errResource
	}
	d := Definition{Plural: parts[0], Version: parts[1], Group: parts[2]}
	for _, label := range parts[:2] {
		if len(validation.IsDNS1035Label(label)) > 0 {
			return Definition{}, errResource
		}
	}
	if len(validation.IsDNS1123Subdomain(d.Group)) > 0 || !strings.Contains(d.Group, ".") {
		return Definition{}, errResource
	}
	return d, nil
}

// Object makes the CustomResourceDefinition.
//
// Errors: those of Types.Schema.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
func (d Definition) Object(t *Types) (dicts.Object, error) {
	spec, err := t.Schema(d.Spec)
	if err != nil {
		return nil, err
	}
	status := dicts.Object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	if d.Status != "" {
		if status, err = t.Schema(d.Status); err != nil {
			return nil, err
		}
		status["x-kubernetes-preserve-unknown-fields"] = true // results and progress of handlers
	}
	kind := d.Kind
	if kind == "" {
		kind = strings.TrimSuffix(d.Spec, "Spec")
	}
	names := dicts.Object{"kind": kind, "plural": d.Plural, "singular": strings.ToLower(kind), "listKind": kind + "List"}
	if d.Singular != "" {
		names["singular"] = d.Singular
	}
	if len(d.ShortNames) > 0 {
		names["shortNames"] = d.ShortNames
	}
	scope := "Namespaced"
	if d.ClusterScoped {
		scope = "Cluster"
	}
	schema := dicts.Object{"type": "object", "properties": dicts.Object{
		"apiVersion": dicts.Object{"type": "string"}, "kind": dicts.Object{"type": "string"}, "metadata": dicts.Object{"type": "object"}, "spec": spec, "status": status,
	}}
	return dicts.Object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": dicts.Object{"name": fmt.Sprintf("%s.%s", d.Plural, d.Group)},
		"spec": dicts.Object{"group": d.Group, "scope": scope, "names": names, "versions": []any{dicts.Object{
			"name": d.Version, "served": true, "storage": true, "subresources": dicts.Object{"status": dicts.Object{}},
			"schema": dicts.Object{"openAPIV3Schema": schema},
		}}},
	}, nil
}
