package e2e_test

import (
	"slices"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/objects"
)

// TestInterruptedHosts: a host is killed in the middle of each transition of a declaration, and the next one completes it. Then the
// definitions are removed while a host serves, and come back.
func TestInterruptedHosts(t *testing.T) {
	t.Parallel()
	h := hostedIn(t, newFallible(t).space, identity.Token)
	h.install(t)
	h.pack(t, "v1", version(t, "handlers=create,update,delete"))
	h.pack(t, "v2", version(t, "version=2", "handlers=create,update,delete"))
	start := func() {
		h.serve(t, "-n", h.namespace)
	}
	interrupt := func() {
		t.Helper()
		h.signal(t, syscall.SIGKILL)
		h.exits(t)
		start()
	}
	const release = ", onRemoval: {finalizers: Release}"
	declare := func(tag, more, reason string) {
		t.Helper()
		h.declare(t, "a", tag, "tenant", more+release)
		interrupt()
		h.condition(t, "a", api.Ready, reason)
	}
	marked := func(want string) {
		t.Helper()
		h.space.until(t, "the version "+want+" handles the object", func() bool {
			status, _ := h.get(t, "obj").Object["status"].(map[string]any)
			return status["version"] == want
		})
	}

	start()
	declare("v1", "", "Serving")
	h.create(t, "obj", "{mark: true}")
	marked("1")
	declare("v2", "", "Serving")
	h.patch(t, "obj", `{"spec":{"field":"x"}}`)
	marked("2")
	declare("v2", ", suspend: true", "Suspended")
	declare("v1", "", "Serving")
	h.patch(t, "obj", `{"spec":{"field":"y"}}`)
	marked("1")
	h.handled(t, "obj")

	definitions, definition := h.Dynamic().Resource(definitionsResource), declarations.GroupResource().String()
	if err := definitions.Delete(t.Context(), definition, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.process.says(t, "The operator stops.")
	h.space.until(t, "the definition is gone", func() bool {
		_, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if finalizers := h.get(t, "obj").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("finalizers %q after the definition was removed", finalizers)
	}
	h.patch(t, "obj", `{"spec":{"field":"z"}}`)
	h.install(t)
	h.declare(t, "a", "v2", "tenant", release)
	h.condition(t, "a", api.Ready, "Serving")
	marked("2")
	h.handled(t, "obj")
	h.space.until(t, "the next host knows what to remove", func() bool {
		object, err := h.client(declarations).Get(t.Context(), "a", metav1.GetOptions{})
		return err == nil && slices.Contains(object.GetFinalizers(), objects.Finalizer) && len(h.declared(t, "a").Status.Resources) > 0
	})

	if err := h.client(declarations).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	interrupt()
	h.space.until(t, "the declaration is gone", func() bool {
		_, err := h.client(declarations).Get(t.Context(), "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if finalizers := h.get(t, "obj").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("finalizers %q after the declaration was removed", finalizers)
	}
}
