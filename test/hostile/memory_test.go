package hostile_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
)

// hostMemory are attacks on the memory of the host, which is measured. So they come first: those on the memory of instances may have
// as much as their limits allow, and the measure is the largest size of the process until then.
var hostMemory = wave{"the memory of the host", []attack{
	{
		name: "filters that ask for a large field", script: `for (let i = 0; i < 1000; i++) kopf.on.event("kopfexamples", { id: "h" + i, field: "spec", value: () => true }, () => {});`,
		object: "{text: " + strings.Repeat("x", 1_000_000) + "}", count: 3, named: []sign{usesMoreThanNeighbour}, also: smallHost,
	},
	{
		name: "daemons of thousands of handlers", script: `for (let i = 0; i < 3000; i++) kopf.daemon("kopfexamples", { id: "d" + i }, async ({ stopped }) => { await stopped.wait(); });`,
		count: 20, named: []sign{limit("BodyMemory"), says("the limit BodyMemory of 262144 bytes is reached: daemons, timers and the bodies of their objects")}, also: smallHost,
	},
	{
		name: "records of deep sub-handlers", script: `
const leaves = {}; for (let i = 0; i < 98; i++) leaves["l".repeat(1000) + i] = () => { throw new kopf.TemporaryError("x", { delay: 100 }); };
const dig = (n) => n < 48 ? kopf.execute({ ["c".repeat(1000)]: () => dig(n + 1) }) : kopf.execute(leaves); ` + on(`await dig(0);`),
		count: 3, named: []sign{limit("ChildMemory")}, also: smallHost,
	},
	{
		name: "references without an end", module: raw(func(m *rawModule) { m.code = forever(0xd2, 0, 0x1a) }), // ref.func, drop
		rules: watchConfigMaps, act: func(t *testing.T, a *attacker) {
			for i := range 10 {
				a.ApplyIn(t, a.namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: obj-%d}}", i))
			}
		}, named: []sign{says("computed too long")}, also: smallHost,
	},
}}

// memory are attacks on the memory of instances, of the host and of logs.
var memory = wave{"memory", []attack{
	{name: "the memory of an instance", quick: true, script: on(`const all = []; for (;;) all.push(new Uint8Array(1 << 20));`), count: 2, named: []sign{says("memory")}},
	{
		name: "the memory of many instances", quick: true, script: on(`const all = []; for (let i = 0; i < 40; i++) all.push(new Uint8Array(1 << 20).fill(1)); await kopf.sleep(1e6); return all;`),
		spec: limited("InstanceMemory: 128Mi"), count: 6, named: []sign{limit("InstanceMemory")}, also: bounded,
	},
	{
		name: "the memory of many operators", quick: true, script: `const all = new Uint8Array(48 << 20); kopf.on.startup(async () => { await kopf.sleep(1e6); return all; });`,
		act: func(t *testing.T, a *attacker) {
			for i := range 40 {
				a.house.declare(t, a.namespace, fmt.Sprintf("more-%d", i), a.tag(), tenantName, "")
			}
		}, named: []sign{refusesMore}, also: leavesMemory,
	},
	{
		name: "rights that are multiplied out", quick: true, script: `
const names = Array.from({ length: 4000 }, (_, i) => "n" + i);
kopf.wants({ kubernetes: [{ groups: names, resources: names, verbs: ["get"] }] }); ` + on(``),
		named: []sign{condition(api.Ready, "LoadFailed", "a rule wants 1 verbs for 16000000 resources")},
	},
	{
		name: "large headers", script: on(`await kopf.fetch("https://example.com/", { headers: { "x-a": "x".repeat(100000) } });`), spec: func(*attacker) string { return "grants: {hosts: [example.com]}" },
		count: 3, named: []sign{says("the URL and the headers have 1000")},
	},
	{name: "memos", quick: true, script: on(`for (let i = 0; ; i++) k.memo.set("key" + i, "x".repeat(100000));`), count: 2, named: []sign{limit("MemoMemory"), says("the limit MemoMemory of 2097152 bytes is reached")}},
	{name: "the operator's memo", script: on(`for (let i = 0; ; i++) kopf.memo.set("key" + i, "x".repeat(100000));`), count: 2, named: []sign{limit("MemoMemory")}},
	{
		name: "indices", script: `kopf.index("kopfexamples", function all() { const o = {}; for (let i = 0; i < 5000; i++) o["key" + i] = "x".repeat(100); return o; });`,
		count: 2, named: []sign{limit("IndexMemory"), says("the limit IndexMemory of 1048576 bytes is reached")},
	},
	{name: "sub-handlers", script: on(`const all = {}; for (let i = 0; i < 1000; i++) all["c" + i] = () => {}; await kopf.execute(all);`), count: 1, named: []sign{says("1000 sub-handlers of one call, but the limit MaxChildren is 100")}},
	{name: "sub-handlers without depth", script: on(`const dig = (n) => kopf.execute({ ["c" + n]: () => dig(n + 1) }); await dig(0);`), count: 1, named: []sign{says("50")}},
	{name: "patches", script: on(`k.patch.status.big = "x".repeat(3000000);`), count: 1, named: []sign{limit("PatchMemory"), says("the limit PatchMemory of 2097152 bytes is reached")}},
	{name: "messages", script: on(`return "x".repeat(9000000);`), count: 1, named: []sign{says("the limit is 8388608")}},
	{
		name: "bodies of daemons", script: `kopf.daemon("kopfexamples", async function fn({ stopped }) { await stopped.wait(); });`,
		object: "{text: " + strings.Repeat("x", 60_000) + "}", count: 8, named: []sign{limit("BodyMemory"), says("the limit BodyMemory of 262144 bytes is reached")},
	},
	{
		name: "answers of the API server", script: on(`await kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps");`), rules: watchConfigMaps,
		spec: func(*attacker) string { return `grants: {kubernetes: ["list:configmaps"]}` }, act: func(t *testing.T, a *attacker) {
			for i := range 3 {
				a.ApplyIn(t, a.namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: big-%d}, data: {a: %s}}", i, strings.Repeat("x", 500_000)))
			}
			a.create(t, "obj", "")
		}, named: []sign{says("AnswerMemory")},
	},
	{
		name: "Kubernetes events", quick: true, script: on(`for (let i = 0; i < 20000; i++) kopf.info(undefined, { reason: "R" + i, message: "x".repeat(1000) });`), spec: limited("EventRate: '5', EventBurst: '5'"),
		count: 2, named: []sign{limit("EventRate")}, held: condition(api.Throttled, "EventRate", "Kubernetes events wait"),
	},
	{
		name: "the log", quick: true, script: on(`
const forged = "innocent\n" + JSON.stringify({ message: "FORGED", operator: "WasmOperator " + kopf.config("neighbour") + "/neighbour", severity: "error" }) + "\r\n\u2028\u202e\u001b[2J\u007f\u0085";
for (let i = 0; i < 5000; i++) { k.logger.info(forged); console.error(forged); print(forged); }
throw new kopf.PermanentError(forged);`), count: 3, spec: func(a *attacker) string { return "grants: {config: {neighbour: " + a.neighbour.namespace + "}}" },
		named: []sign{limit("LogLimit"), says("innocent")}, also: noForgedLine,
	},
	{name: "the log all the time", script: on(`for (;;) { k.logger.info("x".repeat(1000)); await kopf.sleep(0.001); }`), count: 5, named: []sign{condition(api.Throttled, "LogLimit", "lines of output are dropped")}},
}}

// smallHost checks that the process has never had more than a gigabyte.
func smallHost(t *testing.T, a *attacker) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		t.Skipf("this system has no /proc: %v", err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var size int
	if _, err := fmt.Sscan(peak, &size); err != nil || size > 1<<20 {
		t.Errorf("the process had %d KiB, %v", size, err)
	}
	t.Logf("the process has had at most %d KiB", size)
}

// refusesMore is an operator of the attacker that does not start, because the others have too much of the memory of the host.
func refusesMore(a *attacker) error {
	report, err := a.report(context.Background())
	if err != nil {
		return err
	}
	reasons := map[string]int{}
	for i := range report.Operators {
		f := &report.Operators[i]
		if f.Namespace != a.namespace {
			continue
		}
		if f.Reason == "NoMemory" {
			return nil
		}
		reasons[f.Reason]++
	}
	return fmt.Errorf("no operator of the attacker has too little memory, as they are not ready for the reasons %v: all operators have %+v", reasons, *report.Host.Memory)
}

// leavesMemory checks that the operators of the attacker leave a third of the memory to others, and all of it when they are removed.
func leavesMemory(t *testing.T, a *attacker) {
	t.Helper()
	used := func() (sum, limit int64) {
		report, err := a.report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range report.Operators {
			for _, l := range report.Operators[i].Limits {
				if report.Operators[i].Namespace == a.namespace && l.Name == facts.HostMemory {
					sum += l.Used
				}
			}
		}
		return sum, report.Host.Memory.Limit
	}
	sum, limit := used()
	if sum > limit*2/3 || sum < limit/10 {
		t.Errorf("the operators of the attacker have %d of %d bytes", sum, limit)
	}
	t.Logf("the operators of the attacker have %d of %d MiB", sum>>20, limit>>20)
	if err := a.declared().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	a.Eventually(t, patience, func() error {
		if sum, _ := used(); sum > 0 {
			return fmt.Errorf("they still have %d bytes", sum)
		}
		return nil
	})
}

// bounded checks that the instances of the operator have no more memory than their limit.
func bounded(t *testing.T, a *attacker) {
	t.Helper()
	f, err := a.fact(t.Context(), a.namespace, operatorName)
	if err != nil || f == nil || f.Memory.Instances > 128<<20 {
		t.Errorf("the facts are %+v, %v", f, err)
	}
}

// noForgedLine checks that no record claims to be of another operator.
func noForgedLine(t *testing.T, a *attacker) {
	t.Helper()
	for _, line := range a.log.All() {
		if strings.Contains(line, "FORGED") && !strings.Contains(line, `"operator":"WasmOperator `+a.namespace+"/") {
			t.Errorf("a forged record: %s", line)
		}
	}
	for _, line := range a.stdout.All() {
		if strings.HasPrefix(line, "{") {
			t.Errorf("a forged record on the standard output: %s", line)
		}
	}
	page, err := a.fetch(t.Context(), "/statusz?format=html")
	if err != nil || strings.ContainsAny(page, "\x1b\u2028\u202e") {
		t.Errorf("the page has control characters: %v", err)
	}
}
