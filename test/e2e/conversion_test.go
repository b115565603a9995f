package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const versionsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: *any}
  - {name: v3, served: true, storage: false, schema: *any}
  - {name: v9, served: true, storage: false, schema: *any}
`

// versioned are widgets with several versions, converted by an operator.
type versioned struct {
	widgets
}

// converted starts an operator and waits until the API server asks it.
func (s space) converted(t *testing.T) versioned {
	t.Helper()
	o := s.admission(t, options{config: map[string]string{"handlers": "versions"}})
	s.Apply(t, fmt.Sprintf(versionsDefinition, o.config["group"]))
	s.unconverted(t, "widgets."+o.config["group"])
	v := versioned{widgets{s.start(t, o), o.config["group"]}}
	v.eventually(t, func() error {
		object, err := v.Dynamic().Resource(definitionsResource).Get(t.Context(), "widgets."+v.group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if strategy, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "strategy"); strategy != "Webhook" {
			return errors.New("the strategy is " + strategy)
		}
		return nil
	})
	v.eventually(t, func() error { // until the API server has noticed
		probe := v.object("v2", "probe", map[string]any{"replicas": int64(1)})
		_ = v.in("v2").Delete(t.Context(), "probe", metav1.DeleteOptions{})
		made, err := v.in("v2").Create(t.Context(), probe, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if made.GetAnnotations()["converted-to"] == "" {
			return errors.New("it is not converted")
		}
		return nil
	})
	return v
}

// unconverted ends the conversions of a resource when the operator has ended. As long as the API server asks a server
// that is gone, it cannot list the resource, and the controllers of the cluster can delete no namespace at all.
func (s space) unconverted(t *testing.T, definition string) {
	t.Helper()
	t.Cleanup(func() {
		none := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
		_, err := s.Dynamic().Resource(definitionsResource).Patch(context.Background(), definition, types.MergePatchType, none, metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

func (v versioned) in(version string) dynamic.ResourceInterface {
	return v.Dynamic().Resource(schema.GroupVersionResource{Group: v.group, Version: version, Resource: "widgets"}).Namespace(v.namespace)
}

func (v versioned) object(version, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v.group + "/" + version, "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// TestConversion: an object is stored in the first version, and read in all of them.
func TestConversion(t *testing.T) {
	t.Parallel()
	v := newSpace(t).converted(t)
	specs := map[string]map[string]any{
		"v1": {"size": int64(5), "other": []any{"x", 1.5, nil}},
		"v2": {"replicas": int64(5), "other": []any{"x", 1.5, nil}},
		"v3": {"scale": map[string]any{"replicas": int64(5)}, "other": []any{"x", 1.5, nil}},
	}
	for _, made := range []string{"v1", "v3"} {
		if _, err := v.in(made).Create(t.Context(), v.object(made, "made-"+made, specs[made]), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"v1", "v2", "v3"} {
			got, err := v.in(version).Get(t.Context(), "made-"+made, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(specs[version], got.Object["spec"]); diff != "" || got.GetAPIVersion() != v.group+"/"+version {
				t.Errorf("made as %s, read as %s %s (-want +got):\n%s", made, version, got.GetAPIVersion(), diff)
			}
		}
	}
	list, err := v.in("v3").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("%d objects are listed: %v", len(list.Items), err)
	}
}

// TestBadConversions: the reason reaches the user.
func TestBadConversions(t *testing.T) {
	t.Parallel()
	v := newSpace(t).converted(t)
	for _, tt := range []struct{ do, version, want string }{
		{"fail", "v3", "from v1 to v2: 'up-12': this one cannot be converted"},
		{"panic", "v2", "a conversion panics"},
		{"rename", "v2", `'up-12': metadata.name has become "other"`},
		{"", "v9", "there is no way from v1 to v9; handlers convert: v1 to v2, v2 to v1, v2 to v3, v3 to v2"},
	} {
		name := "bad-" + tt.do + tt.version
		if _, err := v.in("v1").Create(t.Context(), v.object("v1", name, map[string]any{"convert": tt.do}), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := v.in(tt.version).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestMetadataInConversions: what the API does not allow to change is kept.
func TestMetadataInConversions(t *testing.T) {
	t.Parallel()
	v := newSpace(t).converted(t)
	if _, err := v.in("v1").Create(t.Context(), v.object("v1", "w", map[string]any{"convert": "finalize"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := v.in("v2").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GetFinalizers()) > 0 || got.GetAnnotations()["converted-to"] != "v2" {
		t.Errorf("metadata %v", got.Object["metadata"])
	}
	v.stop(t)
	object, err := v.Dynamic().Resource(definitionsResource).Get(t.Context(), "widgets."+v.group, metav1.GetOptions{})
	if strategy, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "strategy"); err != nil || strategy != "Webhook" {
		t.Errorf("after the exit, the strategy is %q: %v", strategy, err)
	}
	if _, err := v.in("v2").Get(t.Context(), "w", metav1.GetOptions{}); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("without the operator, an object is passed off as one of v2: %v", err)
	}
}
