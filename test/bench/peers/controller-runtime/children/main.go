// Command children is examples/02-children with controller-runtime: it gives each
// EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what becomes of it.
package main

import (
	"context"
	"errors"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	claimOf = "ephemeralvolumeclaims.example.com/claim-of" // a label
	manager = "volumes"                                    // of fields
)

var (
	volumes = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "EphemeralVolumeClaim"}
	claims  = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		ctrl.Log.Error(err, "the operator has failed")
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{os.Getenv("NAMESPACE"): {}}},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(m).For(object(volumes)).Owns(object(claims)).
		Complete(&reconciler{m.GetClient()})
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

type reconciler struct{ client client.Client }

// Reconcile can be repeated: the claim is created, adopted if it exists already, or changed. The
// cluster deletes it with its owner.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	volume := object(volumes)
	if err := r.client.Get(ctx, request.NamespacedName, volume); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if volume.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	size, _, err := unstructured.NestedString(volume.Object, "spec", "size")
	if err != nil || size == "" {
		return ctrl.Result{}, reconcile.TerminalError(errors.New("a volume needs a size"))
	}
	claim, err := r.claimOf(volume, size)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(claim), client.FieldOwner(manager))
	switch {
	case apierrors.IsInvalid(err), apierrors.IsConflict(err):
		return ctrl.Result{}, reconcile.TerminalError(err)
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, volume, claim)
}

// claimOf returns the claim that a volume should have.
func (r *reconciler) claimOf(volume *unstructured.Unstructured, size string) (*unstructured.Unstructured, error) {
	claim := object(claims)
	claim.SetName(volume.GetName())
	claim.SetNamespace(volume.GetNamespace())
	labels := volume.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[claimOf] = volume.GetName()
	claim.SetLabels(labels)
	claim.Object["spec"] = map[string]any{
		"accessModes": []any{"ReadWriteOnce"},
		"resources":   map[string]any{"requests": map[string]any{"storage": size}},
	}
	return claim, controllerutil.SetControllerReference(volume, claim, r.client.Scheme())
}

// report shows the phase of the claim in the status of the volume.
func (r *reconciler) report(ctx context.Context, volume, claim *unstructured.Unstructured) error {
	phase, _, err := unstructured.NestedString(claim.Object, "status", "phase")
	if err != nil || phase == "" {
		return err
	}
	before := volume.DeepCopy()
	if err := unstructured.SetNestedField(volume.Object, phase, "status", "phase"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(volume.Object, claim.GetName(), "status", "claim"); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, volume, client.MergeFrom(before)))
}
