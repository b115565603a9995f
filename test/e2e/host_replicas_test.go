package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// TestHostsTakeOver: a host without rights to the lease says so; of two hosts, one runs the operators, and the other one has
// loaded them and continues when the first one is stopped.
func TestHostsTakeOver(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", version(t))
	args := []string{"-n", h.namespace, "--replicas", "leader", "--lease", h.namespace + "/hosts", "--lease-duration", "6s"}
	refused := kopf(t, []string{h.kubeconfig(t, "host")}, append([]string{"serve"}, args...)...)
	if refused.code != 1 || strings.Count(refused.stderr, "it may not get, create, update leases.coordination.k8s.io hosts") != 1 {
		t.Fatalf("without rights: %+v", refused)
	}
	h.ApplyIn(t, h.namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: lease}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}, {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [hosts], verbs: [get, update]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: lease}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lease}, subjects: [{kind: ServiceAccount, name: host}]}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: hosts}}`) // no host has to wait for a former one

	h.serve(t, args...)
	first := h.process
	first.says(t, leads)
	h.declare(t, "a", "v1", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	h.serve(t, args...)
	second := h.process
	second.says(t, waits)
	second.says(t, "The operator starts.") // it is loaded, and stands by
	h.create(t, "one", "{}")
	h.handled(t, "one")
	leader := h.declared(t, "a").Status.Host
	first.until(t, "it says what it has handled", func() bool { return len(first.stderr.With("/one]", "'createFn' succeeded")) == 1 })
	if leader == "" || len(second.stderr.With("/one]")) > 0 {
		t.Errorf("the host of the operator is %q; the other one says %q", leader, second.stderr.With("/one]"))
	}

	first.signal(t, syscall.SIGTERM)
	h.create(t, "two", "{}")
	second.says(t, leads)
	h.handled(t, "two")
	if code := first.exits(t); code != 0 || len(first.stderr.With("/two]", "'createFn' succeeded"))+len(second.stderr.With("/two]", "'createFn' succeeded")) != 1 {
		t.Errorf("the stopped host ends with %d; it says %q, and the other one %q", code, first.stderr.With("/two]"), second.stderr.With("/two]"))
	}
	h.space.until(t, "the status names the new leader", func() bool { s := h.declared(t, "a").Status; return s.Host != "" && s.Host != leader })
	if started := second.stderr.With("The operator starts."); len(started) != 1 {
		t.Errorf("the operator is started again: %q", started)
	}
}
