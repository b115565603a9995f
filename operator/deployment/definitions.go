package deployment

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// definition is a CustomResourceDefinition, as far as it matters here.
//
// Source: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
type definition struct {
	Kind string `json:"kind"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			Kind       string   `json:"kind"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []definedVersion `json:"versions"`
	} `json:"spec"`
}

// definedVersion is a version of a definition.
type definedVersion struct {
	Name         string                    `json:"name"`
	Served       bool                      `json:"served"`
	Subresources map[string]map[string]any `json:"subresources"`
}

var errNoDefinition = errors.New("there is no CustomResourceDefinition in it")

// Definitions returns the resources that CustomResourceDefinitions define, from a file with documents in YAML or JSON.
// Other documents are ignored.
//
// Errors: a document is no YAML, or no document is a definition.
func Definitions(text []byte) ([]selectors.Resource, error) {
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []selectors.Resource
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := boundedyaml.Check(document); err != nil {
			return nil, err
		}
		var d definition
		if err := yaml.Unmarshal(document, &d); err != nil {
			return nil, fmt.Errorf("a document is no object: %w", err)
		}
		if d.Kind == "CustomResourceDefinition" {
			all = append(all, d.resources()...)
		}
	}
	if len(all) == 0 {
		return nil, errNoDefinition
	}
	return all, nil
}

func (d *definition) resources() []selectors.Resource {
	var all []selectors.Resource
	names := d.Spec.Names
	slices.SortStableFunc(d.Spec.Versions, func(a, b definedVersion) int { return version.CompareKubeAwareVersionStrings(b.Name, a.Name) }) // the server prefers the first
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		r := selectors.Resource{
			Group: d.Spec.Group, Version: v.Name, Plural: names.Plural, Kind: names.Kind,
			Singular: cmp.Or(names.Singular, strings.ToLower(names.Kind)), Shortcuts: names.ShortNames, Categories: names.Categories,
			Namespaced: d.Spec.Scope != "Cluster", Preferred: len(all) == 0,
			Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		}
		for name := range v.Subresources {
			r.Subresources = append(r.Subresources, name)
		}
		all = append(all, r)
	}
	return all
}
