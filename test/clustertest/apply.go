package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// servedTimeout is how long a new kind of resource may take to be served.
const servedTimeout = 90 * time.Second

// fieldManager is the owner of the fields that tests set.
const fieldManager = "clustertest"

// customResourceDefinition is the kind that adds kinds.
var customResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Apply creates or changes the objects of a YAML text, one after the other,
// and returns them as they are in the cluster. Objects of namespaced kinds
// that name no namespace go into "default". After a custom resource
// definition it waits until all its versions are served, so that objects of
// the new kind may follow in the same text. Nothing is deleted at the end of
// the test.
func (c *ControlPlane) Apply(tb testing.TB, text string) []*unstructured.Unstructured {
	tb.Helper()
	return c.ApplyIn(tb, metav1.NamespaceDefault, text)
}

// ApplyIn is Apply with a namespace for the objects that name none.
func (c *ControlPlane) ApplyIn(tb testing.TB, namespace, text string) []*unstructured.Unstructured {
	tb.Helper()
	wanted, err := parse(text)
	if err != nil {
		tb.Fatalf("apply: %v", err)
	}
	var made []*unstructured.Unstructured
	for _, object := range wanted {
		one, err := c.apply(tb.Context(), namespace, object)
		if err != nil {
			tb.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		made = append(made, one)
	}
	return made
}

// Resource returns the client for the kind of an object, in the namespace if
// the kind has namespaces.
func (c *ControlPlane) Resource(tb testing.TB, kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	tb.Helper()
	client, err := c.resource(kind, namespace)
	if err != nil {
		tb.Fatalf("resource: %v", err)
	}
	return client
}

func (c *ControlPlane) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	client := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return client, nil
	}
	return client.Namespace(namespace), nil
}

// parse reads the documents of a YAML text. Empty ones do not count.
func parse(text string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	var objects []*unstructured.Unstructured
	for number := 1; ; number++ {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", number, err)
		case len(object.Object) == 0:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "":
			return nil, fmt.Errorf("document %d: no apiVersion, kind or metadata.name", number)
		}
		objects = append(objects, object)
	}
}

func (c *ControlPlane) apply(ctx context.Context, namespace string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if own := object.GetNamespace(); own != "" {
		namespace = own
	}
	client, err := c.resource(object.GroupVersionKind(), namespace)
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	made, err := client.Apply(ctx, object.GetName(), object, options)
	if err != nil {
		return nil, err
	}
	if made.GroupVersionKind().GroupKind() == customResourceDefinition {
		return made, c.awaitServed(ctx, made)
	}
	return made, nil
}

// awaitServed returns when objects of the defined kind can be listed in each
// served version.
func (c *ControlPlane) awaitServed(ctx context.Context, definition *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	for _, kind := range servedKinds(definition) {
		for {
			err := c.served(ctx, kind)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s is not served: %w", kind, err)
			case <-time.After(pollInterval):
			}
		}
	}
	return nil
}

// served returns nil if the kind is known and can be listed.
func (c *ControlPlane) served(ctx context.Context, kind schema.GroupVersionKind) error {
	c.mapper.Reset() // it remembers that there was no such kind
	client, err := c.resource(kind, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	_, err = client.List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// servedKinds returns what a custom resource definition adds.
func servedKinds(definition *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var kinds []schema.GroupVersionKind
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}
