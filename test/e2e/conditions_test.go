package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// TestHostedOperatorsWithoutRightsOrResources: an operator that may not list its objects, or whose resource does not exist, is not
// ready, and its message says what to do. It serves without a restart after that was done, though its account may not watch definitions.
func TestHostedOperatorsWithoutRightsOrResources(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.account(t, "less", "kopfexamples", "get")
	h.Apply(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: awaited}, rules: [{apiGroups: [e2e.kopf.dev], resources: [awaiteds], verbs: ['*']}]}")
	h.ApplyIn(t, h.namespace, "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: awaited}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: awaited}, subjects: [{kind: ServiceAccount, name: tenant}]}")
	h.pack(t, "examples", version(t))
	h.pack(t, "awaited", version(t, "resource=awaiteds.e2e.kopf.dev"))
	h.serve(t, "-n", h.namespace)
	h.declare(t, "refused", "examples", "less", "")
	h.declare(t, "awaiting", "awaited", "tenant", "")
	if message := h.condition(t, "refused", api.Ready, "NotWatching"); !strings.Contains(message, "the account needs the verbs list and watch: ") || !strings.Contains(message, "cannot list resource") {
		t.Errorf("says %q", message)
	}
	if message := h.condition(t, "awaiting", api.Ready, "ResourcesUnserved"); !strings.Contains(message, "try creating their CRDs") {
		t.Errorf("says %q", message)
	}
	h.account(t, "less", "kopfexamples", "*")
	h.Apply(t, definition("Awaited", "awaiteds", "{type: object, x-kubernetes-preserve-unknown-fields: true}"))
	h.condition(t, "awaiting", api.Ready, "Serving")
	h.condition(t, "refused", api.Ready, "Serving")
	h.Apply(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: scopes}, rules: [{apiGroups: ['', apiextensions.k8s.io], resources: [namespaces, customresourcedefinitions], verbs: [list, watch]}]}")
	h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: scopes-%[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scopes}, subjects: [{kind: ServiceAccount, name: less, namespace: %[1]s}]}", h.namespace))
	h.declare(t, "refused", "examples", "less", ", grants: {config: {a: b}}") // it starts again
	h.condition(t, "refused", api.Ready, "Serving")
	h.space.until(t, "it names the resources of its handlers, and no others", func() bool {
		return slices.Equal(h.declared(t, "refused").Status.Resources, []string{"kopfexamples.v1.kopf.dev"})
	})
}

// TestTwoHosts: of two hosts with the same declarations that are no replicas, the later one ends and names the other one, and the first
// one continues.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "examples", version(t))
	h.serve(t, "-n", h.namespace)
	began := time.Now()
	h.declare(t, "a", "examples", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	first, name := h.process, h.declared(t, "a").Status.Host
	time.Sleep(time.Until(began.Add(20 * time.Second))) // the first one is established
	h.serve(t, "-n", h.namespace)
	if code := h.exits(t); code != 1 {
		t.Errorf("the exit code is %d", code)
	}
	h.says(t, "the other one is "+name)
	first.says(t, "Operators run twice: ")
	h.space.eventually(t, func() error {
		if host := h.declared(t, "a").Status.Host; host != name {
			return fmt.Errorf("the host is %s", host)
		}
		return nil
	})
}
