package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

func described(namespaces ...string) *deployment.Operator {
	handler := func(kind abi.Kind) abi.Handler {
		return abi.Handler{Kind: kind, ID: string(kind), Resource: &abi.Selector{Plural: "shops"}}
	}
	return &deployment.Operator{
		Name: "mailer", Namespace: "shops", Namespaces: namespaces, Admission: "mailer.example.com",
		Registrations: []*abi.Registration{{Handlers: []abi.Handler{handler(abi.KindCreate), handler(abi.KindMutate)}}},
		Resources:     []selectors.Resource{{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Singular: "shop", Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}}},
	}
}

// TestChartAndManifestsAgree: `kopf manifest` and the chart with `kopf manifest --values` give an operator the same rights
// and the same pod, except for what the chart adds.
func TestChartAndManifestsAgree(t *testing.T) {
	modules := []string{"oci://example.com/mailer:v1"}
	replicas := described("shops")
	replicas.Replicas = 3
	sharing := described("shops")
	sharing.Replicas, sharing.Shared = 3, true
	for name, o := range map[string]*deployment.Operator{"namespaces": described("shops", "others"), "cluster": described(), "patterns": described("shops", "prod-*"), "replicas": replicas, "shared": sharing} {
		t.Run(name, func(t *testing.T) {
			given, err := o.Values(modules)
			if err != nil {
				t.Fatal(err)
			}
			objects := rendered(t, "any", "shops", values(marshalled(t, given))+"image: {repository: example.com/kopf, tag: v1}\n")
			rights, err := o.Rights()
			if err != nil {
				t.Fatal(err)
			}
			workload, err := o.Deployment("example.com/kopf:v1", modules)
			if err != nil {
				t.Fatal(err)
			}
			var printed []*unstructured.Unstructured
			for _, object := range append(rights, workload...) {
				more, err := documents(marshalled(t, object))
				if err != nil {
					t.Fatal(err)
				}
				printed = append(printed, more...)
			}
			if diff := cmp.Diff(essence(printed), essence(objects)); diff != "" {
				t.Errorf("the rights differ:\n%s", diff)
			}
			samePods(t, find(t, printed, "Deployment"), find(t, objects, "Deployment"))
			sameServices(t, find(t, printed, "Service"), find(t, objects, "Service"))
		})
	}
}

func samePods(t *testing.T, want, got map[string]any) {
	t.Helper()
	for _, at := range []string{"metadata.name", "metadata.namespace", "spec.replicas", "spec.strategy", "spec.template.spec.securityContext", "spec.template.spec.serviceAccountName"} {
		if diff := cmp.Diff(field(t, want, at), field(t, got, at)); diff != "" {
			t.Errorf("%s differs:\n%s", at, diff)
		}
	}
	wanted, made := container(t, want), container(t, got)
	for _, at := range []string{"image", "securityContext", "env", "volumeMounts", "resources", "livenessProbe"} {
		if diff := cmp.Diff(wanted[at], made[at]); diff != "" {
			t.Errorf("%s of the container differs:\n%s", at, diff)
		}
	}
	more := made["args"].([]any)
	for i, argument := range more {
		if argument == "--listen=0.0.0.0:8081" { // metrics and readiness
			more = append(append([]any(nil), more[:i]...), more[i+1:]...)
			break
		}
	}
	if diff := cmp.Diff(wanted["args"], more); diff != "" {
		t.Errorf("the arguments differ:\n%s", diff)
	}
}

// sameServices: the API server finds the webhooks at the same port.
func sameServices(t *testing.T, want, got map[string]any) {
	t.Helper()
	webhooks := func(service map[string]any) any {
		for _, port := range field(t, service, "spec.ports").([]any) {
			if port.(map[string]any)["name"] == "webhooks" {
				return port
			}
		}
		return nil
	}
	if diff := cmp.Diff(webhooks(want), webhooks(got)); diff != "" {
		t.Errorf("the port of webhooks differs:\n%s", diff)
	}
}
