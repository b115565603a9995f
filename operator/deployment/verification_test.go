package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// attributes are what a review asks for.
type attributes struct{ Verb, Group, Resource, Subresource, Namespace, Name string }

// answering answers reviews.
func answering(allowed func(attributes) bool) Ask {
	return func(_ context.Context, _ apipath.Path, body []byte) ([]byte, error) {
		var review struct {
			Spec struct{ ResourceAttributes attributes }
		}
		if err := json.Unmarshal(body, &review); err != nil {
			return nil, err
		}
		answer := map[string]any{"status": map[string]any{"allowed": allowed(review.Spec.ResourceAttributes)}}
		return json.Marshal(answer)
	}
}

func TestMissingRightsAreAskedFor(t *testing.T) {
	o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindIndex, "pods"))
	o.Namespaces = []string{"a"}
	missing, err := o.Missing(t.Context(), answering(func(a attributes) bool {
		return a.Verb != "patch" && a.Resource != "events" && a.Resource != "customresourcedefinitions"
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"list, watch customresourcedefinitions.apiextensions.k8s.io in the whole cluster",
		"create events in the namespace a",
		"patch shops.example.com in the namespace a",
		"patch shops.example.com/status in the namespace a",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}

	missing, err = o.Missing(t.Context(), answering(func(attributes) bool { return true }))
	if err != nil || missing != nil {
		t.Errorf("missing %v, %v", missing, err)
	}
}

func TestRightsToNamedObjectsAreAskedWithTheirNames(t *testing.T) {
	o := operator(handler(abi.KindValidate, "shops"))
	o.Admission = "hooks.example.com"
	missing, err := o.Missing(t.Context(), answering(func(a attributes) bool { return a.Name == "" || a.Verb != "patch" }))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"patch mutatingwebhookconfigurations.admissionregistration.k8s.io hooks.example.com in the whole cluster",
		"patch validatingwebhookconfigurations.admissionregistration.k8s.io hooks.example.com in the whole cluster",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestRightsThatCannotBeAskedForAreAnError(t *testing.T) {
	refusal := errors.New("no")
	_, err := operator(handler(abi.KindCreate, "shops")).Missing(t.Context(), func(context.Context, apipath.Path, []byte) ([]byte, error) { return nil, refusal })
	if !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
}
