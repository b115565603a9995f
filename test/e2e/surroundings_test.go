package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

// TestBrokenGroup: an aggregated API without a server causes a warning, and blocks nothing.
func TestBrokenGroup(t *testing.T) {
	t.Parallel()
	s := space{clustertest.Start(t, clustertest.Options{NoControllers: true}), "default"}
	text, err := os.ReadFile("../conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(t, string(text)+`
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.broken.example.com}, spec: {group: broken.example.com, version: v1,
  groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nowhere}}}`)
	p := s.run(t)
	p.says(t, "Some resources cannot be discovered")
	s.create(t, "obj1", "{field: one}")
	s.handled(t, "obj1")
	s.Apply(t, definition("Fresh", "freshes", "{type: object, x-kubernetes-preserve-unknown-fields: true}"))
	s.patch(t, "obj1", `{"spec":{"field":"two"}}`)
	p.until(t, "the change is handled", func() bool { return len(p.stdout.callsFor(t, "obj1")) == 2 })
	if lines := p.stderr.With("Stopping the watch-stream"); len(lines) > 0 {
		t.Errorf("streams have ended: %v", lines)
	}
}

// TestDyingNamespace: a namespace that is being deleted is served until nothing in it waits.
func TestDyingNamespace(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	dying := s.namespace + "-dying"
	s.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", dying))
	p := s.spawn(t, "-n", dying[:len(dying)-1]+"*", "--config", "handlers=create delete")
	p.says(t, fmt.Sprintf("Starting the watch-stream for kopfexamples.v1.kopf.dev in '%s'", dying))
	in := space{s.ControlPlane, dying}
	in.create(t, "obj1", "{do: temporary, seconds: 1, times: 1}")
	in.handled(t, "obj1")
	namespaces := s.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err := namespaces.Delete(t.Context(), dying, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Eventually(t, 5*patience, func() error { // the controller has those of other tests to delete, too
		switch _, err := namespaces.Get(t.Context(), dying, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("the namespace: %w", err)
		}
		return errors.New("the namespace is still there")
	})
	var reasons []string
	for _, c := range p.stdout.callsFor(t, "obj1") {
		reasons = append(reasons, c.Reason)
	}
	if got := fmt.Sprint(reasons); got != "[create create delete delete]" {
		t.Errorf("handlers for %s, want the deletion and its retry in the dying namespace too", got)
	}
	p.says(t, fmt.Sprintf("Stopping the watch-stream for kopfexamples.v1.kopf.dev in '%s'", dying))
}

// TestFewRights: who may neither list namespaces nor resource definitions serves what is named.
func TestFewRights(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.ApplyIn(t, s.namespace, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: few}, rules: [
  {apiGroups: [kopf.dev], resources: [kopfexamples], verbs: [list, watch, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: few}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: few},
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: few}]}`)
	poor := s.RESTConfig()
	poor.Impersonate = rest.ImpersonationConfig{UserName: "few", Groups: []string{"system:authenticated"}}
	op := s.start(t, options{rest: poor, config: map[string]string{"handlers": "create delete"}})
	s.create(t, "obj1", "{field: one}")
	s.handled(t, "obj1")
	s.remove(t, "obj1")
	s.gone(t, "obj1")
	for _, want := range []string{
		"Not enough permissions to list namespaces. Falling back to a list of namespaces which are assumed to exist: " + s.namespace,
		"Not enough permissions to watch for resources: changes (creation/deletion/updates) will not be noticed",
	} {
		if lines := op.log.With(`"severity":"warn"`, want); len(lines) != 1 {
			t.Errorf("%d warnings with %q, want 1", len(lines), want)
		}
	}
}
