// Command controller-runtime is the peer of the benchmarks that most Go operators look
// like: a manager with its cache of unstructured objects, one controller with 16
// concurrent reconciliations, and a JSON merge patch per object. Its argument is the namespace, default if there is none. It is a
// module of its own, so that no other module requires controller-runtime.
package main

import (
	"context"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// lastHandled is the annotation with the essence that was handled last.
const lastHandled = "peers.example.com/last-handled-configuration"

var kind = schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfExample"}

// essence is what Kopf calls so: the part of the object that its user controls.
type essence struct {
	Spec     any         `json:"spec"`
	Metadata essenceMeta `json:"metadata"`
}

type essenceMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		ctrl.Log.Error(err, "the operator has failed")
		os.Exit(1)
	}
}

// run handles all objects and their changes.
func run(ctx context.Context) error {
	namespace := "default"
	if len(os.Args) > 1 {
		namespace = os.Args[1]
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	err = ctrl.NewControllerManagedBy(manager).For(object).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

type reconciler struct{ client client.Client }

// Reconcile patches the object, unless its essence is the one that was handled last.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	annotations := object.GetAnnotations() // a copy, or nil
	last := annotations[lastHandled]
	delete(annotations, lastHandled)
	text, err := json.Marshal(essence{object.Object["spec"], essenceMeta{object.GetLabels(), annotations}})
	if err != nil || last == string(text) {
		return ctrl.Result{}, err
	}
	field, _, err := unstructured.NestedString(object.Object, "spec", "field")
	if err != nil {
		return ctrl.Result{}, err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{lastHandled: string(text)}},
		"status":   map[string]any{"field": field},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("handled", "field", field)
	return ctrl.Result{}, nil
}
