package clustertest

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// namespaces is the resource of namespaces.
var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// maxPrefix leaves room for what the API server adds to generated names.
const maxPrefix = 40

// Namespace makes a namespace for the test and returns its name, which
// resembles that of the test. In a cluster that the tests did not start, it is
// deleted when the test ends, but not awaited: the controller takes five
// seconds at least, and for ever if something in it has a finalizer whose
// operator has ended. In one that they have started, it stays: to delete it
// takes 150 requests, which were most of the requests of all tests.
func (c *ControlPlane) Namespace(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), requestTimeout)
	defer cancel()
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"generateName": namePrefix(tb.Name())},
	}}
	made, err := c.dynamic.Resource(namespaces).Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("namespace: %v", err)
	}
	if c.server == nil {
		tb.Cleanup(func() { c.deleteNamespace(tb, made.GetName()) })
	}
	return made.GetName()
}

func (c *ControlPlane) deleteNamespace(tb testing.TB, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), requestTimeout)
	defer cancel()
	if err := c.dynamic.Resource(namespaces).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		tb.Errorf("namespace %s: %v", name, err)
	}
}

// namePrefix turns the name of a test into the beginning of a DNS label.
func namePrefix(test string) string {
	var name strings.Builder
	for _, r := range strings.ToLower(test) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			name.WriteRune(r)
		} else if !strings.HasSuffix(name.String(), "-") {
			name.WriteByte('-')
		}
		if name.Len() == maxPrefix {
			break
		}
	}
	return strings.Trim(name.String(), "-") + "-"
}
