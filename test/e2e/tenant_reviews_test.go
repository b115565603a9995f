package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// webhooksOf reads the webhooks of a tenant; nil if there is no configuration.
func (h *hosting) webhooksOf(t *testing.T, resource schema.GroupVersionResource, name string) []any {
	t.Helper()
	object, err := h.Dynamic().Resource(resource).Get(t.Context(), name+"."+h.namespace+".wasmoperators.hosting.kopf.dev", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	return append([]any{}, list...)
}

// TestTenantsReview: a tenant that is permitted to reviews objects of its namespace, and of
// no other one, through the server of the host. Its webhooks go with it.
func TestTenantsReview(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	other := newSpace(t)
	h.account(t, "reviewer", "kopfexamples", "get") // no verb for reviews
	h.pack(t, "v1", version(t, "handlers=check,fill"))
	h.pack(t, "plain", version(t, "handlers=create"))
	t.Cleanup(func() {
		for _, resource := range []schema.GroupVersionResource{validatingConfigurations, mutatingConfigurations} {
			for _, name := range []string{"a", "b"} { // none of the host stays if the test fails
				_ = h.Dynamic().Resource(resource).Delete(context.WithoutCancel(t.Context()), name+"."+h.namespace+".wasmoperators.hosting.kopf.dev", metav1.DeleteOptions{})
			}
		}
	})

	h.serve(t, "-n", h.namespace)
	h.declare(t, "a", "v1", "tenant", "")
	if message := h.condition(t, "a", api.Granted, "NoAdmissionServer"); !strings.Contains(message, "see --admission-server of kopf serve") {
		t.Errorf("says %q", message)
	}
	h.signal(t, syscall.SIGTERM)
	h.exits(t)

	h.serve(t, "-n", h.namespace, "--admission-server", `{"type": "server", "addr": "127.0.0.1"}`)
	h.declare(t, "b", "v1", "reviewer", "")
	if message := h.condition(t, "b", api.Granted, "AdmissionForbidden"); !strings.Contains(message, "the service account "+h.namespace+"/reviewer may not mutate kopfexamples.kopf.dev in the namespace "+h.namespace) {
		t.Errorf("says %q", message)
	}
	if found := h.webhooksOf(t, validatingConfigurations, "b"); found != nil {
		t.Errorf("configured: %v", found)
	}
	h.condition(t, "a", api.Ready, "Serving") // it may do everything with them
	h.space.until(t, "the webhooks are configured", func() bool {
		return len(h.webhooksOf(t, validatingConfigurations, "a")) == 1 && len(h.webhooksOf(t, mutatingConfigurations, "a")) == 1
	})
	webhook := h.webhooksOf(t, validatingConfigurations, "a")[0].(map[string]any)
	if text := fmt.Sprint(webhook["namespaceSelector"], webhook["rules"]); !strings.Contains(text, "kubernetes.io/metadata.name") || !strings.Contains(text, "values:["+h.namespace+"]") || !strings.Contains(text, "scope:Namespaced") {
		t.Errorf("the webhook is not limited: %v", webhook)
	}
	h.space.eventually(t, func() error { // API servers learn of webhooks a moment later
		object, err := h.client(examples).Create(t.Context(), reviewable("probe", "allow"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if field, _, _ := unstructured.NestedString(object.Object, "spec", "field"); field != "filled" {
			return fmt.Errorf("the field is %q", field)
		}
		return nil
	})
	_, err := h.client(examples).Create(t.Context(), reviewable("bad", "deny"), metav1.CreateOptions{})
	refusal(t, err, 500, "it wants to be denied")
	if _, err := other.client(examples).Create(t.Context(), reviewable("bad", "deny"), metav1.CreateOptions{}); err != nil {
		t.Errorf("in another namespace: %v", err)
	}
	endpoint, _, _ := unstructured.NestedString(webhook, "clientConfig", "url")
	h.forged(t, endpoint, other.namespace, http.StatusForbidden)
	h.forged(t, endpoint, h.namespace, http.StatusOK)
	h.forged(t, strings.Replace(endpoint, "/a/", "/absent/", 1), h.namespace, http.StatusNotFound)

	h.guarded(t, "a")
	h.declare(t, "a", "plain", "tenant", "")
	h.space.until(t, "the configurations are gone", func() bool {
		return h.webhooksOf(t, validatingConfigurations, "a") == nil && h.webhooksOf(t, mutatingConfigurations, "a") == nil
	})
	h.declare(t, "a", "v1", "tenant", "") // the module is replaced by one that needs the server
	h.space.until(t, "the webhooks are configured again", func() bool { return len(h.webhooksOf(t, validatingConfigurations, "a")) == 1 })
	h.guarded(t, "a")
	h.undeclare(t, "a")
	h.undeclared(t, "a")
	if found := h.webhooksOf(t, validatingConfigurations, "a"); found != nil {
		t.Errorf("left: %v", found)
	}
}

func reviewable(name, do string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": name}, "spec": map[string]any{"do": do}}}
}

// forged sends a review that no API server has made.
func (h *hosting) forged(t *testing.T, endpoint, namespace string, want int) {
	t.Helper()
	object := fmt.Sprint("forged-", want)
	body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},
		"operation":"CREATE","namespace":%[1]q,"name":%[2]q,"userInfo":{},"object":{"metadata":{"name":%[2]q,"namespace":%[1]q},"spec":{}}}}`, namespace, object)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != want {
		t.Errorf("%s for %s: %s: %s", endpoint, namespace, answer.Status, text)
	}
	if lines := h.stderr.With(`"handler":"check"`, object); want != http.StatusOK && len(lines) > 0 {
		t.Errorf("a handler was called: %v", lines)
	}
}

// TestTenantsOfTheClusterReviewAndConvert: an operator with patterns of namespaces reviews their objects
// while they have its name, and one of the whole cluster converts. The certificate is in a secret, so
// a host that starts later has the same one.
func TestTenantsOfTheClusterReviewAndConvert(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	group := h.namespace + ".example.com"
	h.Apply(t, fmt.Sprintf(versionsDefinition, group))
	h.unconverted(t, "widgets."+group)
	h.ApplyIn(t, h.namespace, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: certificate}, rules: [{apiGroups: [''], resources: [secrets], verbs: [create, get, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: certificate}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: certificate}, subjects: [{kind: ServiceAccount, name: host}]}`)
	h.Apply(t, fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reviews-%[1]s}, rules: [{apiGroups: [kopf.dev], resources: [kopfexamples], verbs: [validate, mutate]}, {apiGroups: [%[2]s], resources: ['*'], verbs: [get, list, watch]}, {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, list, watch, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reviews-%[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reviews-%[1]s}, subjects: [{kind: ServiceAccount, name: tenant, namespace: %[1]s}]}`, h.namespace, group))
	dir := t.TempDir()
	copyOf(t, version(t, "handlers=check,fill"), dir+"/reviews.wasm")
	copyOf(t, guest(t, "admission"), dir+"/versions.wasm")
	manifest := func(name, module, more string) {
		t.Helper()
		text := fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: ClusterWasmOperator, metadata: {name: %s}, spec: {module: %s, serviceAccountName: tenant, serviceAccountNamespace: %s, %s}}", name, module, h.namespace, more)
		if err := os.WriteFile(dir+"/"+name+".yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifest("reviews-"+h.namespace, "reviews.wasm", fmt.Sprintf("scope: {namespaces: ['%s*']}", h.namespace))
	manifest("versions-"+h.namespace, "versions.wasm", fmt.Sprintf("grants: {config: {group: %s, handlers: versions}}", group))
	server := fmt.Sprintf(`{"type": "server", "addr": "127.0.0.1", "secret": {"namespace": %q, "name": "hooks"}}`, h.namespace)
	h.serve(t, dir, "--admission-server", server)
	h.space.eventually(t, func() error { return h.denies(t) })
	first := h.convertsWith(t, group)
	h.signal(t, syscall.SIGTERM)
	h.exits(t)
	h.serve(t, dir, "--admission-server", server)
	h.space.eventually(t, func() error { return h.denies(t) })
	if again := h.convertsWith(t, group); again != first {
		t.Error("the host that has started later has another certificate")
	}
}

// denies reports whether an operator reviews the objects of the namespace.
func (h *hosting) denies(t *testing.T) error {
	t.Helper()
	_, err := h.client(examples).Create(t.Context(), reviewable("bad", "deny"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "it wants to be denied") {
		return fmt.Errorf("not denied by the handler: %w", err)
	}
	return nil
}

// convertsWith waits until objects are converted, and returns the authority of the server's certificate.
func (h *hosting) convertsWith(t *testing.T, group string) (authority string) {
	t.Helper()
	v := versioned{widgets{&running{space: h.space}, group}}
	h.space.eventually(t, func() error {
		_ = v.in("v1").Delete(t.Context(), "w", metav1.DeleteOptions{}) // of an earlier attempt
		if _, err := v.in("v1").Create(t.Context(), v.object("v1", "w", map[string]any{"size": int64(5)}), metav1.CreateOptions{}); err != nil {
			return err
		}
		got, err := v.in("v3").Get(t.Context(), "w", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if replicas, _, _ := unstructured.NestedInt64(got.Object, "spec", "scale", "replicas"); replicas != 5 {
			return fmt.Errorf("read as %v", got.Object)
		}
		definition, err := h.Dynamic().Resource(definitionsResource).Get(t.Context(), "widgets."+group, metav1.GetOptions{})
		if err == nil {
			authority, _, err = unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		}
		if err == nil && authority == "" {
			err = fmt.Errorf("no authority: %v", definition.Object)
		}
		return err
	})
	return authority
}
