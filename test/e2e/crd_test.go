package e2e_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDefinitionsOfTypes: the API server accepts the definition of a type, and checks objects by it.
func TestDefinitionsOfTypes(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for name, source := range map[string]string{"goclaims": "/docs/snippets/kwargs/main.go", "rustclaims": "/docs/snippets/rust/src/kwargs.rs"} {
		made := kopf(t, nil, "crd", repository+source, "--resource", name+".v1.types.example.com", "--kind", strings.ToUpper(name[:1])+name[1:])
		if made.code != 0 {
			t.Fatalf("%s: exit code %d: %s", source, made.code, made.stderr)
		}
		s.Apply(t, made.stdout)
		objects := s.client(schema.GroupVersionResource{Group: "types.example.com", Version: "v1", Resource: name})
		for size, want := range map[string]any{"": int64(5), "spec.size": "five"} {
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "types.example.com/v1", "kind": strings.ToUpper(name[:1]) + name[1:],
				"metadata": map[string]any{"generateName": "obj-"}, "spec": map[string]any{"size": want, "zones": []any{"a"}},
			}}
			_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
			if (err == nil) != (size == "") || err != nil && !strings.Contains(err.Error(), size) {
				t.Errorf("%s with the size %v: %v", name, want, err)
			}
		}
	}
}
