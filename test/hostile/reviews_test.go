package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// reviewing makes a script with one admission handler of its own objects.
func reviewing(kind, body string) string {
	return `kopf.on.` + kind + `("kopfexamples", { id: "review" }, async function (k) { ` + body + ` });`
}

// reviews are attacks by admission handlers. The neighbour has one, too: its objects cannot be created
// while it does not answer.
var reviews = wave{"reviews", []attack{
	{name: "reviews that never end", script: reviewing("validate", `k.logger.warning("REVIEWED"); for (;;) { try { await kopf.sleep(1e6); } catch {} }`), act: denied("failed calling webhook"), named: []sign{says("REVIEWED")}},
	quick(attack{name: "reviews that compute without an end", script: reviewing("validate", `for (;;) {}`), act: denied("computed too long"), named: []sign{limit("ComputeLimit")}}),
	{name: "reviews that throw megabytes", script: reviewing("validate", `throw new kopf.AdmissionError("x".repeat(4e6));`), act: denied(""), named: []sign{says("Webhook 'review' failed")}},
	{name: "warnings without an end", script: reviewing("validate", `for (let i = 0; i < 1e5; i++) k.warnings.push("w".repeat(1000)); throw new kopf.AdmissionError("the end");`), act: denied(""), named: []sign{says("Webhook 'review' failed")}},
	{name: "patches of megabytes", script: reviewing("mutate", `k.patch.spec.x = "x".repeat(6e6);`), act: denied(""), named: []sign{limit("PatchMemory"), says("Webhook 'review' failed with an exception")}},
	quick(attack{name: "patches of fields of others", script: reviewing("mutate", `
k.patch.metadata.namespace = kopf.config("other"); k.patch.metadata.name = "idle-1"; k.patch.metadata.uid = "1"; k.patch.kind = "ClusterRoleBinding"; k.patch.apiVersion = "rbac.authorization.k8s.io/v1";
k.logger.warning("REVIEWED");`), spec: otherNamespace, act: notThere, named: []sign{says("REVIEWED")}}),
	{name: "owners of others by a patch", script: reviewing("mutate", `k.patch.metadata.ownerReferences = [{ apiVersion: "v1", kind: "Namespace", name: kopf.config("other"), uid: "1" }]; k.logger.warning("REVIEWED");`), spec: otherNamespace, act: notThere, named: []sign{says("REVIEWED")}},
	{
		name: "reviews of kinds without a right", quick: true, script: `kopf.on.validate("secrets", { id: "review" }, ({ body, logger }) => logger.info("SECRET " + JSON.stringify(body))); kopf.on.mutate("serviceaccounts", { id: "other" }, () => {});`,
		rules: "- {apiGroups: [''], resources: [secrets, serviceaccounts], verbs: [get, list, watch, create, patch]}", named: []sign{condition(api.Granted, "AdmissionForbidden", "may not ")},
	},
	{name: "a flood of its own reviews", script: reviewing("validate", `await kopf.sleep(1);`), act: floods, named: []sign{condition(api.Ready, "Serving", "")}},
	{name: "conversion of definitions of all", script: `kopf.on.convert("kopfexamples", { id: "convert", from: "v1", to: "v2" }, () => {});`, named: []sign{condition(api.Granted, "ConversionScope", "")}},
	{name: "a server of its own", script: `kopf.on.startup(({ settings }) => { settings.admission.server = { type: "server", port: 9999 }; settings.admission.managed = "neighbour"; });` + reviewing("validate", ``), named: []sign{condition(api.Ready, "Ended", "admission.server")}},
}}

func otherNamespace(a *attacker) string {
	return `grants: {config: {other: ` + a.neighbour.namespace + `}}`
}

// denied waits until the API server refuses to create objects, for a reason.
func denied(says string) func(t *testing.T, a *attacker) {
	return func(t *testing.T, a *attacker) {
		t.Helper()
		a.Eventually(t, patience, func() error { // API servers learn of webhooks a moment later
			_, err := a.objects().Create(t.Context(), reviewed("denied"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), says) {
				return fmt.Errorf("not denied for %q: %w", says, err)
			}
			return nil
		})
	}
}

// notThere creates an object, and checks that it is in its namespace under its name, or refused.
func notThere(t *testing.T, a *attacker) {
	t.Helper()
	a.Eventually(t, patience, func() error {
		_, err := a.objects().Create(t.Context(), reviewed("own"), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) && says("REVIEWED")(a) == nil {
			return nil // refused
		}
		object, err := a.objects().Get(t.Context(), "own", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if object.GetKind() != "KopfExample" || object.GetNamespace() != a.namespace || object.GetUID() == "1" {
			t.Errorf("created: %v", object)
		}
		if err := says("REVIEWED")(a); err != nil { // the API server did not know the webhook yet
			_ = a.objects().Delete(t.Context(), "own", metav1.DeleteOptions{})
			return err
		}
		return nil
	})
}

// floods creates many objects at once, which the API server asks the handler about.
func floods(t *testing.T, a *attacker) {
	t.Helper()
	a.ready(t)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() { // Waited for below. Refused ones are a part of the attack.
			_, _ = a.objects().Create(context.WithoutCancel(t.Context()), reviewed(fmt.Sprint("flood-", i)), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		})
	}
	all.Wait()
}

func reviewed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": name}, "spec": map[string]any{}}}
}
