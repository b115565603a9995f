package hostile_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// authors are attacks by declarations, and by those who write them.
var authors = wave{"authors", []attack{
	quick(attack{name: "an account of another namespace", act: func(t *testing.T, a *attacker) {
		for spec, want := range map[string]string{
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"` + a.neighbour.namespace + `:tenant"}`:                                                 "spec.serviceAccountName",
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"../` + a.neighbour.namespace + `/tenant"}`:                                              "spec.serviceAccountName",
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","serviceAccountNamespace":"` + a.neighbour.namespace + `"}`:                     `unknown field "spec.serviceAccountNamespace"`,
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","scope":{"namespaces":["*"]}}`:                                                  `unknown field "spec.scope"`,
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","grants":{"secrets":{"a":{"name":"../neighbour/secrets/x","key":"password"}}}}`: "spec.grants.secrets",
			`{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","pullSecrets":["../../x"]}`:                                                     "spec.pullSecrets",
			`{"module":"file:///etc/passwd","serviceAccountName":"tenant"}`:                                                                             "want a reference of an artifact",
		} {
			a.refused(t, a.Dynamic(), "x", spec, want)
		}
	}}),
	quick(attack{name: "an account that the author may not use", act: func(t *testing.T, a *attacker) {
		client := a.author(t, "")
		a.Eventually(t, patience, func() error { // the policy takes effect some time after it was written
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": api.APIVersion, "kind": "WasmOperator", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"module": "ghcr.io/me/op:v1", "serviceAccountName": "tenant"}}}
			_, err := client.Resource(declarations).Namespace(a.namespace).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "you may not impersonate the service account "+a.namespace+"/tenant") {
				return nil
			}
			return fmt.Errorf("not refused: %w", err)
		})
		a.refused(t, client, "x", `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant"}`, "you may not impersonate")
	}}),
	{name: "a module changed by another author", script: on(``), act: func(t *testing.T, a *attacker) {
		a.ready(t)
		client := a.author(t, "")
		_, err := client.Resource(declarations).Namespace(a.namespace).Patch(t.Context(), operatorName, types.MergePatchType, []byte(`{"spec":{"module":"ghcr.io/me/other:v1"}}`), metav1.PatchOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("the change of the module: %v", err)
		}
	}},
	quick(attack{name: "a forged status", script: `kopf.on.startup(() => { throw new kopf.PermanentError("never"); });`, act: func(t *testing.T, a *attacker) {
		a.Eventually(t, patience, func() error { return condition(api.Ready, "Ended", "")(a) })
		status, err := a.status(a.namespace, operatorName)
		if err != nil {
			t.Fatal(err)
		}
		forged := fmt.Sprintf(`{"status":{"observedGeneration":%d,"digest":"sha256:forged","conditions":[{"type":"Ready","status":"True","reason":"Serving","message":"all is well","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, status.ObservedGeneration)
		a.patch(t, `{"spec":{"suspend":true}}`) // nothing changes any more
		a.Eventually(t, patience, func() error { return condition(api.Ready, "Suspended", "")(a) })
		a.patch(t, forged, "status")
	}, named: []sign{condition(api.Ready, "Suspended", "the operator is stopped"), func(a *attacker) error {
		status, err := a.status(a.namespace, operatorName)
		if err == nil && status.Digest == "sha256:forged" {
			err = fmt.Errorf("the digest stays forged")
		}
		return err
	}}}),
	{name: "two declarations of one operator", script: on(`return 1;`), count: 1, act: func(t *testing.T, a *attacker) {
		a.ready(t)
		a.house.declare(t, a.namespace, "twin", a.tag(), tenantName, "")
		a.handled(t, "obj-0")
	}, also: func(t *testing.T, a *attacker) {
		a.Eventually(t, patience, func() error {
			status, err := a.status(a.namespace, "twin")
			if err != nil || status == nil || !status.Is(api.Overlapping) {
				return fmt.Errorf("the twin does not overlap: %+v, %w", status, err)
			}
			return nil
		})
	}},
	{name: "removed and declared again, fast", script: on(`k.logger.info("CALLED"); return 1;`), act: func(t *testing.T, a *attacker) {
		a.ready(t)
		for range 15 {
			if err := a.declared().Delete(t.Context(), operatorName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, "")
		}
		a.ready(t)
		a.create(t, "once", "")
		a.handled(t, "once")
		if calls := a.log.With(a.namespace+"/"+operatorName, "CALLED"); len(calls) != 1 {
			t.Errorf("the handler was called %d times", len(calls))
		}
	}},
	{name: "a change of the declaration without an end", script: `throw new Error("broken");`, act: func(t *testing.T, a *attacker) {
		a.Eventually(t, patience, func() error { return condition(api.Ready, "LoadFailed", "broken")(a) })
		before := a.gates.asked(a.tag())
		const changes = 300
		for i := range changes {
			a.patch(t, fmt.Sprintf(`{"metadata":{"annotations":{"hosting.kopf.dev/retry":"%d"}}}`, i))
		}
		if fetches := a.gates.asked(a.tag()) - before; fetches > changes/5 {
			t.Errorf("%d changes have caused %d fetches", changes, fetches)
		}
	}, named: []sign{condition(api.Ready, "LoadFailed", "broken")}},
	{
		name: "an operator that changes its own declaration", rules: "- {apiGroups: [hosting.kopf.dev], resources: [wasmoperators], verbs: ['*']}\n- {apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate]}",
		script: `kopf.on.startup(async ({ logger }) => {
  logger.info("STARTED");
  await kopf.kubernetes.patch("/apis/hosting.kopf.dev/v1alpha1/namespaces/" + kopf.config("namespace") + "/wasmoperators/attacker", { spec: { settings: { "posting.level": Math.floor(Math.random() * 1e9) } } });
});`, spec: func(a *attacker) string {
			return `grants: {kubernetes: ["*:wasmoperators.hosting.kopf.dev"], config: {namespace: ` + a.namespace + `}}`
		}, named: []sign{says("STARTED")}, also: func(t *testing.T, a *attacker) {
			a.neighbour.handles(t, "self")
			t.Logf("it has started %d times", len(a.log.With(a.namespace+"/"+operatorName, "STARTED")))
			a.gone(t)
		},
	},
	{name: "limits above those of the host", script: on(``), spec: limited("MaxMemory: 2Gi"), named: []sign{condition(api.Accepted, "InvalidSpec", "limit MaxMemory: 2Gi is above the maximum 64Mi of the host")}},
	{name: "rates above those of the host", script: on(``), spec: limited("LoopRate: '1000000'"), named: []sign{condition(api.Accepted, "InvalidSpec", "limit LoopRate")}},
	{name: "settings above those of the host", script: on(``), spec: func(*attacker) string { return `settings: {process.ultimate_exiting_timeout: 1000000}` }, named: []sign{condition(api.Accepted, "InvalidSpec", "process.ultimate_exiting_timeout")}},
	{name: "settings of the class grant", script: on(``), spec: func(*attacker) string { return `settings: {networking.trust_env: true}` }, named: []sign{condition(api.Accepted, "InvalidSpec", "networking.trust_env")}},
	{name: "a secret that the account may not read", script: on(``), spec: func(*attacker) string { return `grants: {secrets: {a: {name: any, key: k}}}` }, named: []sign{condition(api.Granted, "SecretUnavailable", "forbidden")}},
	{name: "an account that does not exist", act: func(t *testing.T, a *attacker) {
		a.pack(t, a.tag(), a.script(t, on(``)))
		a.house.declare(t, a.namespace, operatorName, a.tag(), "nobody", "")
	}, named: []sign{condition(api.Ready, "ServiceAccountMissing", "")}},
	{name: "many operators at once", act: func(t *testing.T, a *attacker) {
		const many = 60
		a.pack(t, a.tag(), a.script(t, `kopf.on.startup(({ logger }) => logger.info("up"));`))
		for i := range many {
			a.house.declare(t, a.namespace, fmt.Sprintf("%s-%d", operatorName, i), a.tag(), tenantName, "")
		}
		a.Eventually(t, patience, func() error {
			report, err := a.report(t.Context())
			if err != nil {
				return err
			}
			ready := 0
			for i := range report.Operators {
				if f := &report.Operators[i]; f.Namespace == a.namespace && f.Ready {
					ready++
				}
			}
			if ready < many {
				return fmt.Errorf("%d of %d serve", ready, many)
			}
			return nil
		})
	}},
	{name: "objects of a megabyte and a thousand levels", script: on(`return JSON.stringify(k.body).length;`), object: "{text: " + strings.Repeat("x", 1_000_000) + "}", count: 1, act: func(t *testing.T, a *attacker) {
		deep := strings.Repeat("{a: ", 90) + "1" + strings.Repeat("}", 90)
		a.create(t, "deep", deep)
		a.handled(t, "deep")
	}, named: []sign{says("obj-0")}},
	{name: "progress that is no progress", script: on(`return 1;`), act: func(t *testing.T, a *attacker) {
		a.ready(t)
		a.ApplyIn(t, a.namespace, `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: bad, annotations: {kopf.zalando.org/fn: '{"started":"`+strings.Repeat("9", 1000)+`","retries":1e999}', kopf.zalando.org/last-handled-configuration: '[[['}}, spec: {}}`)
		a.create(t, "good", "")
		a.handled(t, "good")
	}, named: []sign{says("bad")}},
	{name: "questions of others at the status page", act: func(t *testing.T, a *attacker) {
		for _, path := range []string{"/wasmoperators/" + a.neighbour.namespace + "/neighbour/../../x/logs", "/wasmoperators/%2e%2e/neighbour/logs", "/wasmoperators//neighbour/logs", "/debug/pprof/heap", "/statusz/../../etc/passwd"} {
			if text, err := a.fetch(t.Context(), path); err == nil && !strings.Contains(text, "operators") {
				t.Errorf("%s: %.300s", path, text)
			}
		}
	}},
}}

// author is a client of an account that may change declarations, and has further rights.
func (a *attacker) author(t *testing.T, rules string) dynamic.Interface {
	t.Helper()
	a.ApplyIn(t, a.namespace, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: author}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: author}
rules:
- {apiGroups: [hosting.kopf.dev], resources: [wasmoperators], verbs: ['*']}
%s
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: author}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: author}, subjects: [{kind: ServiceAccount, name: author}]}`, rules))
	return a.clientOf(t, a.namespace, "author")
}
