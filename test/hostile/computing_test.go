package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// on makes a script with one handler of new objects.
func on(body string) string {
	return `kopf.on.create("kopfexamples", { id: "fn", backoff: 5 }, async function (k) { ` + body + ` });`
}

// computing are attacks on the processors, and on the patience of the host.
var computing = wave{"computing", []attack{
	// Next to the others, one handler computes for its second in some 10 seconds. Many handlers
	// of an operator share its time, and reach their limit together, and rarely.
	{name: "a loop without an end", script: on(`for (;;) {}`), count: 1, named: []sign{limit("ComputeLimit"), says("computed too long: more than 1s")}, held: condition(api.Throttled, "ComputeLimit", "calls that compute for too long are stopped")},
	{name: "a regular expression that backtracks", script: on(`/^(a+)+$/.test("a".repeat(50) + "b")`), count: 1, named: []sign{says("computed too long")}},
	{name: "recursion", script: on(`const deeper = (n) => 1 + deeper(n + 1); deeper(0);`), count: 1, named: []sign{says("Maximum call stack size exceeded")}},
	{name: "recursion of machine code", module: recursing, act: configMapsExist, rules: watchConfigMaps, named: []sign{says("trapped")}},
	{name: "a filter that never decides", script: `kopf.on.event("kopfexamples", { when: () => { for (;;) {} } }, () => {});`, count: 2, named: []sign{says("computed too long")}},
	{name: "an index that never ends", script: `kopf.index("kopfexamples", function all() { for (;;) {} }); ` + on(``), count: 1, named: []sign{says("computed too long")}},
	{
		name: "computing in all handlers", quick: true, script: `
const spin = () => { for (;;) {} };
kopf.on.event("kopfexamples", spin); kopf.on.create("kopfexamples", { id: "fn", backoff: 1 }, spin);
kopf.timer("kopfexamples", { interval: 0.01, backoff: 1 }, spin); kopf.daemon("kopfexamples", { backoff: 1 }, spin);`,
		count: 6, named: []sign{limit("ComputeLimit")},
	},
	{
		name: "computing for minutes", script: on(`for (;;) { await kopf.sleep(0); for (let n = 0; n < 1e6; n++); }`),
		spec: limited("ComputeRate: 500ms"), count: 4, named: []sign{limit("ComputeRate")}, held: condition(api.Throttled, "ComputeRate", "handlers wait for computing time"),
	},
	{name: "waits of no time without an end", quick: true, script: on(`for (;;) await kopf.sleep(0);`), count: 10, named: []sign{usesMoreThanNeighbour}},
	{name: "timers without pauses", script: `kopf.timer("kopfexamples", { interval: 0 }, () => {});`, count: 20, named: []sign{usesMoreThanNeighbour}},
	{
		name: "timers without pauses that patch", script: `let n = 0; kopf.timer("kopfexamples", { interval: 0.001 }, ({ patch }) => { patch.status.n = Math.random(); });`,
		spec: limited("RequestRate: '20', RequestBurst: '20'"), count: 20, named: []sign{limit("RequestRate"), condition(api.Throttled, "RequestRate", "requests to Kubernetes wait")},
	},
	{name: "retries without pauses", script: on(`throw new kopf.TemporaryError("again", 0);`), spec: limited("RequestRate: '20', RequestBurst: '20'"), count: 20, named: []sign{limit("RequestRate")}},
	{
		name: "a handler that triggers itself", quick: true, script: `kopf.on.update("kopfexamples", function again({ patch }) { patch.spec.n = Math.random(); }); ` + on(`k.patch.spec.n = 1;`),
		spec: limited("LoopRate: '5'"), count: 1, named: []sign{condition(api.Throttled, "LoopRate", "the handler again is called for kopfexamples.v1.kopf.dev")},
	},
	{
		name: "storages for each event", script: `
kopf.on.startup(({ settings }) => { settings.persistence.progress_storage = Array(1000).fill({ type: "annotations", v1: false }); });
for (let i = 0; i < 500; i++) kopf.on.create("kopfexamples", { id: "h" + i }, () => {});`,
		named: []sign{condition(api.Degraded, "Ended", "the list has 1000 storages, and at most 16 can be used")},
	},
	{
		name: "fields that are ignored for each event", script: `
kopf.on.startup(({ settings }) => { settings.persistence.diffbase_storage = { type: "annotations", ignored_fields: Array(190000).fill("spec.f1") }; }); ` + on(``),
		named: []sign{condition(api.Degraded, "Ended", "and an operator may choose one of at most 65536")},
	},
	{
		name: "a large field of many handlers", quick: true, act: manyAnnotations, script: `
for (let i = 0; i < 1000; i++) kopf.on.update("kopfexamples", { id: "h" + i, field: "metadata.annotations" }, () => {});
kopf.on.event("kopfexamples", { annotations: { z: "z" } }, ({ logger }) => logger.info("seen"));`,
		named: []sign{says("seen")},
	},
	{name: "a script that never ends", quick: true, script: `for (;;) {}`, named: []sign{condition(api.Ready, "LoadFailed", "kopf_register: ")}},
	{name: "a startup that never ends", script: `kopf.on.startup(async () => { for (;;) await kopf.sleep(1e6); });`, named: []sign{condition(api.Ready, "Loading", "")}, also: func(t *testing.T, a *attacker) { a.gone(t) }},
	{name: "a startup that fails", script: `kopf.on.startup(() => { throw new kopf.PermanentError("never"); });`, named: []sign{condition(api.Degraded, "Ended", "never"), condition(api.Ready, "Ended", "; attempt 3 follows")}},
	{name: "a daemon that never ends", quick: true, script: `
kopf.daemon("kopfexamples", async function undead({ logger }) {
  logger.info("rises");
  for (;;) { try { await kopf.sleep(1); } catch {} }
});`, count: 3, act: func(t *testing.T, a *attacker) {
		a.Eventually(t, patience, func() error { return says("rises")(a) })
		a.gone(t)
	}},
	{name: "a cleanup that never ends", script: `kopf.on.cleanup(async () => { for (;;) { try { await kopf.sleep(1e6); } catch {} } });`, act: func(t *testing.T, a *attacker) {
		a.ready(t)
		a.gone(t)
	}, named: []sign{says("The operator has stopped with an error.")}},
	{name: "finalizers as hostages", script: `kopf.on.delete("kopfexamples", { backoff: 1 }, function fn() { throw new Error("no"); }); ` + on(`return 1;`), count: 1, act: func(t *testing.T, a *attacker) {
		a.handled(t, "obj-0")
		if err := a.objects().Delete(t.Context(), "obj-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}, named: []sign{says("Handler 'fn' failed with an exception and will try again in 1 seconds: no")}, also: func(t *testing.T, a *attacker) {
		name := "idle-0" // an object of the neighbour goes
		if err := a.Dynamic().Resource(examples).Namespace(a.neighbour.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		a.gone(t)
	}},
}}

// manyAnnotations makes objects whose annotations are most of them.
func manyAnnotations(t *testing.T, a *attacker) {
	t.Helper()
	var all strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&all, "a%d: x, ", i)
	}
	for i := range 10 {
		a.ApplyIn(t, a.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: big-%d, annotations: {%s z: z}}, spec: {}}", i, &all))
	}
}

// usesMoreThanNeighbour shows the time that an operator has computed.
func usesMoreThanNeighbour(a *attacker) error {
	f, err := a.fact(context.Background(), a.namespace, operatorName)
	if err != nil || f == nil {
		return fmt.Errorf("no facts: %w", err)
	}
	other, err := a.fact(context.Background(), a.neighbour.namespace, "neighbour")
	if err != nil || other == nil || f.Work.ComputingSeconds <= other.Work.ComputingSeconds {
		return fmt.Errorf("it computes %v s, and the neighbour %+v: %w", f.Work.ComputingSeconds, other, err)
	}
	return nil
}

// limited sets limits of a declaration.
func limited(limits string) func(*attacker) string {
	return func(*attacker) string { return "limits: {" + limits + "}" }
}
