package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

// patience is how long anything may take that takes a moment usually. It is longer than what the operator itself waits for, such as
// the two minutes for which a right is trusted that cannot be asked about.
const patience = 3 * time.Minute

// prompt is less than what an operator waits for at its exit, if anything does not end by itself.
const prompt = 45 * time.Second

// Annotations of the reference.
const (
	lastHandled = "kopf.zalando.org/last-handled-configuration"
	progressOf  = "kopf.zalando.org/" // and the id of the handler
	finalizer   = "kopf.zalando.org/KopfFinalizerMarker"
)

// examples are the KopfExamples of conformance/crds/base.yaml.
var examples = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}

// definitions applies the resource definitions once.
var definitions sync.Once

// space is the namespace of a test, with what the test does in it.
type space struct {
	*clustertest.ControlPlane
	namespace string
}

// newSpace makes the namespace of a test.
func newSpace(t *testing.T) space {
	t.Helper()
	cluster := clustertest.Cluster(t)
	definitions.Do(func() {
		text, err := os.ReadFile("../conformance/crds/base.yaml")
		if err != nil {
			t.Fatal(err)
		}
		cluster.Apply(t, string(text))
	})
	return space{cluster, cluster.Namespace(t)}
}

// create creates a KopfExample; the spec is YAML.
func (s space) create(t *testing.T, name, spec string) {
	t.Helper()
	s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s}, spec: %s}", name, spec))
}

func (s space) client(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return s.Dynamic().Resource(resource).Namespace(s.namespace)
}

// get reads a KopfExample.
func (s space) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := s.client(examples).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// patch merges JSON into a KopfExample.
func (s space) patch(t *testing.T, name, patch string) {
	t.Helper()
	s.patchOf(t, examples, name, patch)
}

func (s space) patchOf(t *testing.T, resource schema.GroupVersionResource, name, patch string) {
	t.Helper()
	_, err := s.client(resource).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// remove deletes a KopfExample, and does not wait until it is gone.
func (s space) remove(t *testing.T, name string) {
	t.Helper()
	if err := s.client(examples).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// held waits until a KopfExample has a finalizer: daemons may begin before it does.
func (s space) held(t *testing.T, name string) {
	t.Helper()
	s.until(t, name+" has a finalizer", func() bool { return len(s.get(t, name).GetFinalizers()) > 0 })
}

// gone waits until a KopfExample is.
func (s space) gone(t *testing.T, name string) {
	t.Helper()
	s.eventually(t, func() error {
		_, err := s.client(examples).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New(name+" is still there"), err)
	})
}

// eventually waits until the check gives no error.
func (s space) eventually(t *testing.T, check func() error) {
	t.Helper()
	s.Eventually(t, patience, check)
}

// until waits until the condition holds.
func (s space) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	s.eventually(t, func() error {
		if !condition() {
			return errors.New("still waiting until " + what)
		}
		return nil
	})
}

// handled waits until a KopfExample is handled in its present state, and has no
// progress any more.
func (s space) handled(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	var object *unstructured.Unstructured
	s.eventually(t, func() error {
		object = s.get(t, name)
		return notHandled(object)
	})
	return object
}

// notHandled says why an object is not.
func notHandled(object *unstructured.Unstructured) error {
	annotations := object.GetAnnotations()
	if annotations[lastHandled] == "" {
		return fmt.Errorf("%s is not handled: %v", object.GetName(), annotations)
	}
	if len(annotations) > 1 {
		return fmt.Errorf("%s has progress left: %v", object.GetName(), annotations)
	}
	return nil
}
