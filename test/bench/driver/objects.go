package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// definition is the resource that the operators serve. Its status is not a subresource,
// so that one patch per object is enough for everybody.
const definition = `{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "kopfexamples.kopf.dev"},
	"spec": {
		"group": "kopf.dev", "scope": "Namespaced",
		"names": {"kind": "KopfExample", "plural": "kopfexamples", "singular": "kopfexample"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
			"type": "object",
			"properties": {
				"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				"status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
			}
		}}}]
	}
}`

// variables is how many entries make the spec of an object about 500 bytes.
const variables = 7

// manifest is an object to be created, with so many entries in its spec.
func manifest(name, field string, variables int) []byte {
	env := make([]string, variables)
	for i := range env {
		env[i] = fmt.Sprintf(`{"name":"VARIABLE_%03d","value":"value-%04d"}`, i, i)
	}
	return fmt.Appendf(nil, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample",`+
		`"metadata":{"name":%q,"labels":{"app":"bench"}},`+
		`"spec":{"field":%q,"replicas":3,"image":"registry.example.com/team/app:1.2.3","env":[%s]}}`,
		name, field, strings.Join(env, ","))
}

func objectName(i int) string { return fmt.Sprintf("obj-%05d", i) }

// copyOf is an object with another name, and without what only the server sets.
func copyOf(object map[string]any, name string) ([]byte, error) {
	fresh := maps.Clone(object)
	metadata := map[string]any{"name": name}
	own, _ := object["metadata"].(map[string]any)
	for _, key := range []string{"labels", "annotations", "finalizers"} {
		if value, ok := own[key]; ok {
			metadata[key] = value
		}
	}
	fresh["metadata"] = metadata
	return json.Marshal(fresh)
}
