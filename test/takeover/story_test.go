package takeover_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	diffs "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// story is what happens to objects while operators take turns, and which calls this makes.
type story struct {
	*setup
	objects dynamic.ResourceInterface
	want    []call
}

func newStory(t *testing.T, s *setup) *story {
	t.Helper()
	return &story{setup: s, objects: s.cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfExample"}, s.namespace)}
}

func (s *story) create(t *testing.T, name, spec string) {
	t.Helper()
	s.cluster.ApplyIn(t, s.namespace, "{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: "+name+"}, spec: "+spec+"}")
}

func (s *story) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	got, err := s.objects.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (s *story) patch(t *testing.T, name, patch string) {
	t.Helper()
	if _, err := s.objects.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *story) remove(t *testing.T, name string) {
	t.Helper()
	if err := s.objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *story) gone(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" to be gone", func() bool {
		_, err := s.objects.Get(t.Context(), name, metav1.GetOptions{})
		return err != nil
	})
}

// expect waits for a call.
func (s *story) expect(t *testing.T, by, handler, name string, retry int) {
	t.Helper()
	expected := call{by, handler, name, retry}
	s.want = append(s.want, expected)
	eventually(t, handler+" of "+name+" by "+by, func() bool { return slices.Contains(s.calls.all(), expected) })
}

// annotation returns what the operators store on an object.
func (s *story) annotation(t *testing.T, name, key string) string {
	t.Helper()
	return s.get(t, name).GetAnnotations()["kopf.zalando.org/"+key]
}

func (s *story) annotated(t *testing.T, name, key, text string) {
	t.Helper()
	eventually(t, text+" in "+key+" of "+name, func() bool { return strings.Contains(s.annotation(t, name, key), text) })
}

// compare compares all calls with those that were waited for, in an order.
func (s *story) compare(t *testing.T, order func([]call) []call) {
	t.Helper()
	if diff := diffs.Diff(order(s.want), order(s.calls.all())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// sorted ignores the order of calls of different objects.
func sorted(list []call) []call {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b call) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// sortedFully ignores the order of all calls.
func sortedFully(list []call) []call {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b call) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Handler, b.Handler), strings.Compare(a.By, b.By), a.Retry-b.Retry)
	})
	return list
}
