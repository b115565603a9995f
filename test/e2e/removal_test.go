package e2e_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/objects"
)

// undeclare deletes a declaration, and does not wait until it is gone.
func (h *hosting) undeclare(t *testing.T, name string) {
	t.Helper()
	if err := h.client(declarations).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// guarded waits until a declaration has the finalizer of the host.
func (h *hosting) guarded(t *testing.T, name string) {
	t.Helper()
	h.space.until(t, name+" has the finalizer of the host", func() bool {
		object, err := h.client(declarations).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(object.GetFinalizers(), objects.Finalizer)
	})
}

// undeclared waits until a declaration is gone.
func (h *hosting) undeclared(t *testing.T, name string) {
	t.Helper()
	h.space.eventually(t, func() error {
		object, err := h.client(declarations).Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%s is still there: %v", name, object.Object["status"])
	})
}

// TestRemovedOperatorsReleaseTheirObjects: a removed operator leaves no finalizer of its own,
// and all others. One whose objects wait for their deletion handlers finishes these first,
// also if the host was away when the declaration was deleted.
func TestRemovedOperatorsReleaseTheirObjects(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", version(t, "handlers=create,delete"))
	h.serve(t, "-n", h.namespace)
	h.declare(t, "a", "v1", "tenant", ", onRemoval: {finalizers: Release}")
	h.condition(t, "a", api.Ready, "Serving")
	h.guarded(t, "a")
	for _, name := range []string{"kept", "stuck", "other"} {
		h.create(t, name, "{}")
		h.held(t, name)
		h.handled(t, name)
	}
	h.patch(t, "other", fmt.Sprintf(`{"metadata":{"finalizers":["example.com/other",%q]}}`, finalizer))
	h.undeclare(t, "a")
	h.undeclared(t, "a")
	for name, want := range map[string]int{"kept": 0, "stuck": 0, "other": 1} {
		if got := h.get(t, name); len(got.GetFinalizers()) != want || got.GetDeletionTimestamp() != nil {
			t.Errorf("%s: %v", name, got.Object["metadata"])
		}
	}
	h.patch(t, "other", `{"metadata":{"finalizers":null}}`)

	h.declare(t, "b", "v1", "tenant", ", onRemoval: {finalizers: ReleaseAfter, releaseAfter: 1h}")
	h.condition(t, "b", api.Ready, "Serving")
	h.guarded(t, "b")
	h.held(t, "kept")
	h.held(t, "stuck")
	h.space.until(t, "the status has the resources", func() bool { return len(h.declared(t, "b").Status.Resources) > 0 })
	h.patch(t, "stuck", `{"spec":{"do":"fail"}}`)
	h.remove(t, "stuck")
	h.space.until(t, "the deletion handler is called", func() bool { return len(h.stderr.With(`"handler":"delete"`, "stuck")) > 0 })
	h.signal(t, syscall.SIGKILL)
	h.exits(t)
	h.undeclare(t, "b")
	h.serve(t, "-n", h.namespace)
	h.space.until(t, "the host continues", func() bool { return h.declared(t, "b").Status.Is(api.Releasing) })
	h.space.until(t, "the deletion handler is called again", func() bool { return len(h.stderr.With(`"handler":"delete"`, "stuck")) > 0 })
	if got := h.get(t, "stuck"); len(got.GetFinalizers()) == 0 {
		t.Errorf("it is released before its deletion handler has succeeded: %v", got.Object)
	}
	h.patch(t, "stuck", `{"spec":{"do":"succeed"}}`)
	h.gone(t, "stuck")
	h.undeclared(t, "b")
	if got := h.get(t, "kept"); len(got.GetFinalizers()) != 0 {
		t.Errorf("kept: %v", got.Object["metadata"])
	}
	if lines := h.stderr.With(`"handler":"delete"`, "kept"); len(lines) > 0 {
		t.Errorf("it is treated as deleted: %v", lines)
	}
}
