package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// definitions notes patches of definitions, and refuses them with an error.
type definitions struct {
	Cluster
	err     error
	patches map[string]string
}

func (d *definitions) Patch(_ context.Context, path apipath.Path, patch []byte) error {
	d.patches[string(path)] = string(patch)
	return d.err
}

var convertedWidgets = []reviews.Handler{
	{Spec: abi.Handler{Kind: abi.KindConvert}, Resources: []selectors.Resource{
		{Group: "g", Version: "v1", Plural: "widgets"}, {Group: "g", Version: "v2", Plural: "widgets"},
	}},
	{Spec: abi.Handler{Kind: abi.KindValidate}, Resources: []selectors.Resource{{Group: "g", Version: "v1", Plural: "others"}}},
}

// TestDefinitions: each converted definition is written once, and what an earlier server has left in it is taken out.
func TestDefinitions(t *testing.T) {
	target, path := "https://op.example.com/hooks", "/-/convert"
	for _, tt := range []struct {
		config ClientConfig
		want   dicts.Object
	}{
		{ClientConfig{URL: &target, CABundle: "Y2E="}, dicts.Object{"url": target + path, "caBundle": "Y2E=", "service": nil}},
		{ClientConfig{URL: &target}, dicts.Object{"url": target + path, "caBundle": nil, "service": nil}}, // a tunnel, with a public certificate
		{
			ClientConfig{Service: &Service{Namespace: "ns", Name: "op"}, CABundle: "Y2E="},
			dicts.Object{"url": nil, "caBundle": "Y2E=", "service": dicts.Object{"namespace": "ns", "name": "op", "path": "/hex-2d/convert", "port": nil}},
		},
	} {
		cluster := &definitions{patches: map[string]string{}}
		err := (conversions{cluster, zerolog.Nop()}).reconfigure(t.Context(), convertedWidgets, tt.config)
		if err != nil || len(cluster.patches) != 1 {
			t.Fatalf("%d definitions are written: %v", len(cluster.patches), err)
		}
		patch, err := dicts.DecodeObject([]byte(cluster.patches["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.g"]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, dicts.LookupObject(patch, "spec", "conversion", "webhook", "clientConfig")); diff != "" {
			t.Errorf("client config (-want +got):\n%s", diff)
		}
	}
}

// TestRefusedDefinitions: the error names the missing part.
func TestRefusedDefinitions(t *testing.T) {
	resource := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{apierrors.NewForbidden(resource, "widgets.g", errors.New("no")), "there are no rights to patch the definition of widgets.g: "},
		{apierrors.NewNotFound(resource, "widgets.g"), "widgets.g is not defined by a CustomResourceDefinition, so it cannot be converted"},
		{errors.New("the network is down"), "the conversion of widgets.g: the network is down"},
	} {
		cluster := &definitions{err: tt.err, patches: map[string]string{}}
		err := (conversions{cluster, zerolog.Nop()}).reconfigure(t.Context(), convertedWidgets, ClientConfig{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
