package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-wasm/kopf/test/bench/controlplane"
)

// cluster is a control plane for this run.
type cluster struct {
	*controlplane.Cluster
	objects dynamic.Interface
	config  *rest.Config
	turns   int // rounds of the cases with turns so far
}

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func startCluster(ctx context.Context, binary string) (*cluster, error) {
	plane, err := controlplane.Start(ctx, binary)
	if err != nil {
		return nil, err
	}
	c := &cluster{Cluster: plane}
	if c.config, err = clientcmd.BuildConfigFromFlags("", plane.Kubeconfig); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	c.config.QPS = -1
	if c.objects, err = dynamic.NewForConfig(c.config); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return c, nil
}

// resource is the resource of an operator.
func resource(which string, i int) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: pluralOf(which, i)}
}

// provide creates what the first operators of a case serve.
func (c *cluster) provide(ctx context.Context, which string, count int) error {
	for i := range count {
		var object map[string]any
		where := namespaces
		if which == caseOne || which == caseSpread {
			object = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespaceOf(which, i)}}
		} else {
			object, where = definition(pluralOf(which, i)), definitions
		}
		if err := c.create(ctx, where, "", object); err != nil {
			return err
		}
	}
	if which == caseOne || which == caseSpread {
		if err := c.create(ctx, definitions, "", definition(plural)); err != nil {
			return err
		}
	}
	for i := range count {
		if err := c.served(ctx, resource(which, i), namespaceOf(which, i)); err != nil {
			return err
		}
	}
	return nil
}

// served waits until a resource can be listed.
func (c *cluster) served(ctx context.Context, r schema.GroupVersionResource, namespace string) error {
	for {
		_, err := c.objects.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *cluster) create(ctx context.Context, r schema.GroupVersionResource, namespace string, object map[string]any) error {
	var err error
	if namespace == "" {
		_, err = c.objects.Resource(r).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	} else {
		_, err = c.objects.Resource(r).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// definition is a resource definition for a plural.
func definition(plural string) map[string]any {
	kind := kindOf(plural)
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".kopf.dev"},
		"spec": map[string]any{
			"group": "kopf.dev", "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural, "singular": strings.ToLower(kind)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}
}

// kindOf is the kind of a resource of the bench. The peers know KopfExample.
func kindOf(plural string) string {
	if plural == "kopfexamples" {
		return "KopfExample"
	}
	return "K" + strings.TrimSuffix(plural[1:], "s")
}

// watches is how many watches the API server serves.
func (c *cluster) watches(ctx context.Context) (int, error) {
	client, err := rest.UnversionedRESTClientFor(withDefaults(c.config))
	if err != nil {
		return 0, err
	}
	text, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `verb="WATCH"`) {
			var n int
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n); err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}
