package e2e_test

import (
	"strings"
	"testing"

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
}
