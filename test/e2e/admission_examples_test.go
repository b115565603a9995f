package e2e_test

import (
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/operator"
)

// languages of the examples.
var languages = []string{"python", "go", "rust", "javascript"}

// runExample applies the definitions of an example, and runs it.
func (s space) runExample(t *testing.T, name, language string) {
	t.Helper()
	o := options{admits: operator.Admission{Server: localServer, Managed: s.managedName()}}
	switch language {
	case "rust":
		o.module = built(t, "rust-"+name)
	case "javascript":
		by := engine(t)
		o.module, o.change = repository+"/examples/"+name+"/operator.js", func(o *operator.Options) { o.Engine = by }
	case "python":
		o.module, o.change = exampleIn(t, name, language).path, exampleIn(t, name, language).options().change
	default:
		o.module = example(t, name)
	}
	text, err := os.ReadFile(repository + "/examples/" + name + "/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(t, string(text))
	s.forgetConfigurations(t)
	s.start(t, o)
}

func (s space) applyExample(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(repository + "/examples/" + name + "/obj.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s.ApplyIn(t, s.namespace, string(text))[0]
}

// TestAdmissionExample does what its README says. The definition is that of the
// whole cluster, so the languages take turns.
func TestAdmissionExample(t *testing.T) {
	t.Parallel()
	for _, language := range languages {
		t.Run(language, func(t *testing.T) { admissionExample(t, language) })
	}
}

func admissionExample(t *testing.T, language string) {
	s := newSpace(t)
	s.runExample(t, "17-admission", language)
	websites := s.client(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"})
	s.eventually(t, func() error {
		made := s.applyExample(t, "17-admission")
		replicas, _, _ := unstructured.NestedInt64(made.Object, "spec", "replicas")
		if replicas != 2 || made.GetLabels()["example.com/requested-by"] != "admin" {
			_ = websites.Delete(t.Context(), "shop", metav1.DeleteOptions{}) // once more, as soon as the webhooks are known
			return fmt.Errorf("made %v with %d rules", made.Object["spec"], s.rules(t))
		}
		return nil
	})
	_, err := websites.Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"replicas":50}}`), metav1.PatchOptions{})
	refusal(t, err, 422, "there can be at most 10 replicas")
	if _, err := websites.Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// TestConversionExample does what its README says.
func TestConversionExample(t *testing.T) {
	t.Parallel()
	for _, language := range languages {
		t.Run(language, func(t *testing.T) { conversionExample(t, language) })
	}
}

func conversionExample(t *testing.T, language string) {
	s := newSpace(t)
	s.unconverted(t, "databases.data.example.com")
	s.runExample(t, "18-conversion", language)
	databases, old := s.databases("v2"), s.databases("v1")
	s.eventually(t, func() error { // sizes of objects that were made before the conversion are lost
		_, err := old.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "data.example.com/v1", "kind": "Database", "metadata": map[string]any{"name": "orders"}, "spec": map[string]any{},
		}}, metav1.CreateOptions{})
		return err
	})
	s.eventually(t, func() error {
		s.applyExample(t, "18-conversion")
		read, err := databases.Get(t.Context(), "orders", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if gigabytes, _, _ := unstructured.NestedInt64(read.Object, "spec", "gigabytes"); gigabytes != 100 {
			return fmt.Errorf("read %v", read.Object)
		}
		return nil
	})
}

// databases is the client for databases in a version.
func (s space) databases(version string) dynamic.ResourceInterface {
	return s.client(schema.GroupVersionResource{Group: "data.example.com", Version: version, Resource: "databases"})
}
