package hostile_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// tries makes a script that tries many things, and stores how each of them has ended. The functions get the arguments
// of the handler as k, and the configuration as c.
func tries(all map[string]string) string {
	var list strings.Builder
	for name, code := range all {
		fmt.Fprintf(&list, "%q: async () => { %s },\n", name, code)
	}
	return on(`
const c = kopf.config;
const all = {` + list.String() + `}, ends = {};
for (const name in all) {
  try { ends[name] = "DONE " + JSON.stringify(await all[name]() ?? null); }
  catch (e) { ends[name] = (e.code ?? e.status ?? e.name) + " " + e.message; }
}
k.logger.warning("tried " + JSON.stringify(ends));
return ends;`)
}

// ends waits for the ends of what was tried, and checks their beginnings.
func (a *attacker) ends(t *testing.T, want map[string]string) {
	t.Helper()
	got, _ := a.handled(t, "obj-0").(map[string]any)
	for name, begin := range want {
		if end := fmt.Sprint(got[name]); !strings.HasPrefix(end, begin) {
			t.Errorf("%s: %s, want %s", name, end, begin)
		}
	}
	text, _ := json.MarshalIndent(got, "", " ")
	t.Logf("%s", text)
	if len(got) != len(want) {
		t.Errorf("%d ends, want %d", len(got), len(want))
	}
}

// tried is an attack by functions that all end as wanted.
func tried(name string, grants string, all map[string][2]string) attack {
	code, want := map[string]string{}, map[string]string{}
	for key, one := range all {
		code[key], want[key] = one[0], one[1]
	}
	return attack{
		name: name, script: tries(code), count: 1,
		rules: "- {apiGroups: [''], resources: [configmaps, services, pods], verbs: ['*']}",
		spec: func(a *attacker) string {
			return fmt.Sprintf("grants: {%s, config: {other: %s}}", grants, a.neighbour.namespace)
		},
		named: []sign{says("tried ")},
		also:  func(t *testing.T, a *attacker) { t.Helper(); a.ends(t, want) },
	}
}

// Ends of requests that the host does not make.
const notGranted, invalid = "NotGranted", "Invalid"

// requests are attacks by requests: to the API server, to other servers, and about objects of others.
var requests = wave{"requests", []attack{
	quick(tried("paths", `kubernetes: ["*:*"]`, map[string][2]string{
		"traversal": {`return kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps/../../../secrets")`, invalid},
		"escaped":   {`return kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps/%2e%2e%2f%2e%2e")`, invalid},
		"query":     {`return kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps/x?y=/z#w")`, invalid},
		"double":    {`return kopf.kubernetes.get("//metadata.google.internal/computeMetadata")`, invalid},
		"absolute":  {`return kopf.kubernetes.get("http://169.254.169.254/latest")`, invalid},
		"line":      {`return kopf.kubernetes.get("/api/v1/namespaces/x\r\nHost: y")`, invalid},
		"no object": {`return kopf.kubernetes.get("/openapi/v2")`, invalid},
		"tunnel":    {`return kopf.kubernetes.request("POST", "/api/v1/namespaces/" + k.namespace + "/pods/p/exec")`, ""},
		"proxy":     {`return kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/services/admin:80/proxy/shutdown")`, ""},
		"method":    {`return kopf.kubernetes.request("GET /api HTTP/1.1\r\nX: ", "/api/v1/namespaces")`, ""},
		"user":      {`return kopf.kubernetes.request("GET", "/api/v1/namespaces/" + k.namespace + "/configmaps", { headers: { "Impersonate-User": "system:admin" } })`, ""},
		"token":     {`return kopf.kubernetes.request("GET", "/api/v1/namespaces/" + k.namespace + "/configmaps", { headers: { Authorization: "Bearer x" } })`, ""},
		"watch":     {`return kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps?watch=true")`, ""},
		"manager":   {`return kopf.kubernetes.apply("/api/v1/namespaces/" + k.namespace + "/configmaps/m", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } }, { fieldManager: "x&force=true&dryRun=All\r\n" })`, ""},
	})),
	quick(tried("objects of the neighbour", `kubernetes: ["*:configmaps,secrets,kopfexamples.kopf.dev,events"]`, map[string][2]string{
		"read":       {`return kopf.kubernetes.get("/api/v1/namespaces/" + c("other") + "/secrets/neighbour")`, ""},
		"write":      {`return kopf.kubernetes.patch("/apis/kopf.dev/v1/namespaces/" + c("other") + "/kopfexamples/idle-1", { status: { forged: true } })`, ""},
		"child":      {`return kopf.kubernetes.create("/api/v1/namespaces/" + c("other") + "/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "child" } })`, ""},
		"child of":   {`return kopf.kubernetes.create("/api/v1/namespaces/" + k.namespace + "/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "child", namespace: c("other") } })`, ""},
		"event":      {`kopf.info({ apiVersion: "kopf.dev/v1", kind: "KopfExample", metadata: { name: "idle-1", namespace: c("other"), uid: "1" } }, { reason: "Forged", message: "forged" })`, ""},
		"event path": {`kopf.info({ apiVersion: "v1", kind: "Service", metadata: { name: "admin", namespace: "prod/services/admin:80/proxy/shutdown?x=" } }, { reason: "Forged" })`, ""},
		"event name": {`kopf.info({ apiVersion: "../..", kind: "A/B", metadata: { name: "../../x%2f?", namespace: k.namespace } }, { reason: "Forged" })`, ""},
		"memo":       {`return [kopf.memo.get("secret") ?? null, k.memo.get("secret") ?? null]`, "DONE [null,null]"},
		"config":     {`return kopf.config("password") ?? null`, "DONE null"},
		"index":      {`return Object.keys(k.indices)`, "DONE []"},
	})),
	{name: "owners of others", script: tries(map[string]string{
		"adopt": `const o = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "child" } };
kopf.adopt(o, { owner: { apiVersion: "kopf.dev/v1", kind: "KopfExample", metadata: { name: "idle-1", namespace: c("other"), uid: c("uid") } } });
return kopf.kubernetes.create("/api/v1/namespaces/" + o.metadata.namespace + "/configmaps", o)`,
	}), count: 1, rules: watchConfigMaps, spec: func(a *attacker) string {
		return fmt.Sprintf(`grants: {kubernetes: ["*:configmaps"], config: {other: %s, uid: x}}`, a.neighbour.namespace)
	}, named: []sign{says("tried ")}, also: func(t *testing.T, a *attacker) { a.ends(t, map[string]string{"adopt": notGranted}) }},
	{name: "grants wider than the account", script: tries(map[string]string{
		"secrets":  `return kopf.kubernetes.get("/api/v1/namespaces/" + c("other") + "/secrets/neighbour")`,
		"cluster":  `return kopf.kubernetes.get("/api/v1/namespaces")`,
		"token":    `return kopf.kubernetes.create("/api/v1/namespaces/" + c("other") + "/serviceaccounts/tenant/token", { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} })`,
		"bindings": `return kopf.kubernetes.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "mine" } })`,
		"operator": `return kopf.kubernetes.get("/apis/hosting.kopf.dev/v1alpha1/namespaces/" + c("other") + "/wasmoperators/neighbour")`,
	}), count: 1, spec: func(a *attacker) string {
		return fmt.Sprintf(`grants: {kubernetes: ["*:*:*"], config: {other: %s}}`, a.neighbour.namespace)
	}, named: []sign{says("tried ")}, also: func(t *testing.T, a *attacker) {
		a.ends(t, map[string]string{"secrets": "403", "cluster": "403", "token": "403", "bindings": "403", "operator": "403"})
	}},
	{
		name: "the host's machine by address", quick: true, script: on(``), spec: func(a *attacker) string { return "grants: {hosts: ['" + a.url + "']}" },
		named: []sign{condition(api.Granted, "HostOfMachine", "not those of the host's own machine")},
	},
	{name: "metadata of the cloud", script: on(``), spec: func(*attacker) string { return "grants: {hosts: ['http://169.254.169.254']}" }, named: []sign{condition(api.Granted, "HostOfMachine", "169.254.169.254")}},
	{name: "metadata over IPv6", script: on(``), spec: func(*attacker) string { return "grants: {hosts: ['http://[::ffff:a9fe:a9fe]']}" }, named: []sign{condition(api.Granted, "HostOfMachine", "")}},
	{name: "the API server without its account", script: on(``), spec: func(a *attacker) string { return "grants: {hosts: ['" + a.RESTConfig().Host + "']}" }, named: []sign{condition(api.Granted, "HostOfMachine", "")}},
	{name: "localhost with a dot", script: on(``), spec: func(*attacker) string { return "grants: {hosts: ['http://LOCALHOST.:80']}" }, named: []sign{condition(api.Granted, "HostOfMachine", "")}},
	{name: "names of the host's machine", script: on(`
const ends = [];
for (const url of JSON.parse(kopf.config("urls"))) {
  try { const r = await fetch(url); ends.push("REACHED " + url + " " + r.status); } catch (e) { ends.push(e.code + " " + e.message); }
}
k.logger.warning("tried " + JSON.stringify(ends));
return ends;`), count: 1, spec: machineByName, named: []sign{says("tried ")}, also: func(t *testing.T, a *attacker) {
		ends := fmt.Sprint(a.handled(t, "obj-0"))
		if strings.Contains(ends, "REACHED") {
			t.Error(ends)
		}
		t.Log(ends)
	}},
	{
		name: "a flood of requests", script: on(`for (let i = 0; i < 300; i++) { try { await kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps/x"); } catch {} }`), rules: watchConfigMaps,
		spec: func(*attacker) string {
			return `grants: {kubernetes: ["get:configmaps"]}, limits: {CallRate: '5', CallBurst: '5'}`
		}, count: 5, named: []sign{limit("CallRate"), condition(api.Throttled, "CallRate", "requests of handlers wait")},
	},
	{
		name: "a flood of bytes", quick: true, script: on(`
const data = "x".repeat(100000);
for (let i = 0; i < 300; i++) { try { await kopf.kubernetes.create("/api/v1/namespaces/" + k.namespace + "/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, data: { data } }); } catch {} }`), rules: watchConfigMaps,
		spec: func(*attacker) string {
			return `grants: {kubernetes: ["create:configmaps"]}, limits: {EgressRate: 200Ki, EgressBurst: 1Mi}`
		}, count: 2, named: []sign{limit("EgressRate")}, held: condition(api.Throttled, "EgressRate", "requests of handlers that send many bytes wait, or fail"),
	},
	{
		name: "a flood of answers at once", script: on(`await Promise.all(Array.from({ length: 500 }, () => kopf.kubernetes.get("/api/v1/namespaces/" + k.namespace + "/configmaps").catch(() => {})));`), rules: watchConfigMaps,
		spec: func(*attacker) string { return `grants: {kubernetes: ["list:configmaps"]}` }, count: 2, also: func(t *testing.T, a *attacker) { a.ready(t) },
	},
	{
		name: "watches of other namespaces", script: `kopf.on.event("secrets", ({ body, logger }) => logger.info("SECRET " + JSON.stringify(body))); kopf.on.event("namespaces", ({ body, logger }) => logger.info("SECRET " + JSON.stringify(body)));`,
		named: []sign{condition(api.Degraded, "NotWatching", "secrets")}, also: func(t *testing.T, a *attacker) {
			if err := says("SECRET")(a); err == nil {
				t.Error("it has seen a secret")
			}
		},
	},
	{name: "settings of the host", script: `kopf.on.startup(({ settings }) => { settings.networking.trust_env = true; settings.execution.executor = "x"; });` + on(``), named: []sign{condition(api.Ready, "Ended", "trust_env")}},
	{
		name: "settings that storm the API server", script: `kopf.on.startup(({ settings }) => { const w = settings.watching; w.client_timeout = 0.001; w.server_timeout = 0.001; w.reconnect_backoff = 0; w.connect_timeout = 0.001; w.inactivity_timeout = 0.001; });` + on(``),
		spec: limited("RequestRate: '10', RequestBurst: '10'"), count: 1, named: []sign{says(`Setting "watching.reconnect_backoff" of a guest is bounded`), says("no data has arrived for too long")}, // whether it is ready then depends on the moment
	},
	{name: "peering with a path", script: `kopf.on.startup(({ settings }) => { settings.peering.name = "../../secrets?x="; settings.peering.mandatory = true; settings.peering.standalone = false; });` + on(``), named: []sign{says("peering.name")}},
	{name: "credentials of its own", script: `kopf.on.login(({ logins }) => ({ login: logins[0] }));` + on(``), named: []sign{condition(api.Granted, "LoginHandlers", "")}},
}}

// machineByName grants servers whose names lead to the host's machine.
func machineByName(a *attacker) string {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(a.url, "http://"))
	own, _ := os.Hostname() // without one, the others remain
	var hosts, urls []string
	for _, name := range []string{"localhost.localdomain", "ip6-localhost", "ip6-loopback", own} { // numbers are refused as names of servers
		if name == "" {
			continue
		}
		hosts = append(hosts, fmt.Sprintf("'http://%s:%s'", name, port))
		urls = append(urls, fmt.Sprintf(`"http://%s:%s/statusz"`, name, port))
	}
	return fmt.Sprintf("grants: {hosts: [%s], config: {urls: '[%s]'}}", strings.Join(hosts, ", "), strings.Join(urls, ","))
}
