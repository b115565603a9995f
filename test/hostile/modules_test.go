package hostile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// refusedModule is an attack by a module that the host must refuse, for good.
func refusedModule(name, want string, change func(m *rawModule)) attack {
	return attack{name: name, module: raw(change), named: []sign{condition(api.Degraded, "ModuleRefused", want)}}
}

// modules are attacks by the bytes of modules, and by what registries say.
var modules = wave{"modules", []attack{
	quick(attack{name: "a start function that never ends", module: raw(func(m *rawModule) { m.start, m.more = true, []rawFunc{{code: forever()}} }), named: []sign{condition(api.Ready, "LoadFailed", "kopf:start: ")}}),
	quick(refusedModule("an import of an unknown function", "import", func(m *rawModule) {
		m.imports = vector(cat(sized([]byte("wasi_snapshot_preview1")), sized([]byte("path_open_the_gate")), []byte{0, 0}))
	})),
	refusedModule("a memory of 4 GiB", "", func(m *rawModule) { m.memory = cat([]byte{0}, num(65536)) }),
	refusedModule("a table of a billion", "", func(m *rawModule) { m.tables = vector(cat([]byte{funcref, 0}, num(1_000_000_000))) }),
	refusedModule("a type hidden in an instruction", "", func(m *rawModule) { // the engine's validator and compilers read these bytes differently
		m.code = []byte{0x41, 0, 0x41, 0, 0x41, 0, 0x1c, 1, 0x63, 0x22, 1, 0x1a}
	}),
	refusedModule("over-long numbers", "", func(m *rawModule) { m.code = []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x1a} }),
	refusedModule("vector instructions in many bytes", "", func(m *rawModule) { m.code = []byte{0xfd, 0x8c, 0x80, 0x80, 0x00, 0x1a} }),
	refusedModule("bytes after the end", "", func(m *rawModule) { m.tail = []byte{99, 1, 0} }),
	refusedModule("a million locals", "locals", func(m *rawModule) {
		m.more = []rawFunc{{locals: vector(cat(num(1_000_000), []byte{i32}))}}
	}),
	quick(refusedModule("a bomb for compilers", "too complex", func(m *rawModule) {
		m.more = []rawFunc{{code: bytes.Repeat([]byte{0x03, 0x40, 0x41, 0, 0x0d, 0, end}, 200_000)}}
	})),
	refusedModule("nested blocks for compilers", "too complex", func(m *rawModule) {
		var code []byte
		for i := range 40_000 {
			code = append(code, cat([]byte{0x20}, num(i%100), []byte{0x04, 0x40, 0x41, 1, 0x21}, num(i*7%100))...)
		}
		m.more = []rawFunc{{locals: vector(cat(num(100), []byte{i32})), code: append(code, bytes.Repeat([]byte{end}, 40_000)...)}}
	}),
	refusedModule("a long straight body", "too long", func(m *rawModule) { m.more = []rawFunc{{code: bytes.Repeat([]byte{0x01}, 5<<20)}} }),
	{name: "a megabyte of small functions", module: raw(func(m *rawModule) { m.more = make([]rawFunc, 100_000) }), also: func(t *testing.T, a *attacker) {
		a.Eventually(t, patience, func() error { // accepted or refused, but decided
			status, err := a.status(a.namespace, operatorName)
			if err != nil || status == nil || status.Find(api.Ready) == nil || status.Find(api.Ready).Reason == "Loading" {
				return fmt.Errorf("undecided: %w", err)
			}
			return nil
		})
	}},
	{name: "a module of 100 MB", module: func() []byte {
		return append([]byte("\x00asm\x01\x00\x00\x00"), section(0, append(sized([]byte("x")), make([]byte, 100<<20)...))...)
	}, named: []sign{condition(api.Ready, "FetchFailed", "")}},
	{name: "no module", module: func() []byte { return []byte("\x00asm\x01\x00\x00\x00#!/bin/sh\nreboot\n") }, named: []sign{condition(api.Degraded, "ModuleRefused", "")}},
	{name: "a registry that sends other bytes", act: func(t *testing.T, a *attacker) {
		packed, err := layout.Pack(a.script(t, on(``)), "operator.wasm", nil)
		if err != nil {
			t.Fatal(err)
		}
		a.registry.Put(layout.MediaConfig, packed.Config)
		a.registry.PutAs(layout.Describe(layout.MediaModule, packed.Module).Digest, append(slices.Clone(packed.Module[:len(packed.Module)-1]), '!'))
		a.registry.Tag(a.tag(), layout.MediaManifest, packed.Manifest)
		a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, "")
	}, named: []sign{condition(api.Ready, "FetchFailed", "digest")}},
	{name: "a tag that moves between two requests", act: movingTag},
	signedTags,
	{name: "a private module by its digest alone", act: privateModule, named: []sign{condition(api.Resolved, "PullDenied", "spec.pullSecrets")}},
	{name: "a registry on the host's machine", act: func(t *testing.T, a *attacker) {
		a.declareModule(t, "localhost:5000/some/operator:v1")
	}, named: []sign{condition(api.Resolved, "ModuleNotAllowed", "--allow-registry")}},
	{name: "a registry at an address of the cloud", act: func(t *testing.T, a *attacker) {
		a.declareModule(t, "169.254.169.254/some/operator:v1")
	}, named: []sign{condition(api.Resolved, "ModuleNotAllowed", "--allow-registry")}},
	quick(attack{name: "registries that hang", act: hangingRegistry, also: func(t *testing.T, a *attacker) { a.othersLoad(t) }}),
	{name: "compilers that are kept busy", act: busyCompilers, also: func(t *testing.T, a *attacker) { a.othersLoad(t) }},
}}

// declareModule declares an operator with a module that is not in the registry.
func (a *attacker) declareModule(t *testing.T, module string) {
	t.Helper()
	a.ApplyIn(t, a.namespace, fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: %s}, spec: {module: '%s', serviceAccountName: tenant}}", operatorName, module))
}

// othersLoad declares an operator of another tenant, which must not wait for those of the attacker.
func (a *attacker) othersLoad(t *testing.T) {
	t.Helper()
	other := &attacker{attack: a.attack, house: a.house, neighbour: a.neighbour, namespace: a.Namespace(t)}
	other.tenant(t, other.namespace, "")
	other.pack(t, other.tag(), other.script(t, `// `+other.namespace+"\n"+on(``)))
	other.house.declare(t, other.namespace, operatorName, other.tag(), tenantName, "")
	other.ready(t)
	report, err := a.report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, decided := 0, 0
	for i := range report.Operators {
		if f := &report.Operators[i]; f.Namespace == a.namespace {
			all++
			if f.Reason != "Loading" {
				decided++
			}
		}
	}
	if decided > all/2 {
		t.Errorf("it has waited for %d of %d operators of the attacker", decided, all)
	}
	t.Logf("%d of %d operators of the attacker had an end", decided, all)
}

// hangingRegistry declares operators whose registry announces large modules, and sends nothing.
func hangingRegistry(t *testing.T, a *attacker) {
	t.Helper()
	const many = 8
	for i := range many {
		tag := fmt.Sprintf("%s-%d", a.tag(), i)
		manifest, digest := a.announced(t, i)
		a.gates.hang(digest, announcedSize)
		a.registry.Tag(tag, layout.MediaManifest, manifest)
		a.house.declare(t, a.namespace, fmt.Sprintf("%s-%d", operatorName, i), tag, tenantName, "")
	}
	a.Eventually(t, patience, func() error {
		if n := a.gates.waiting.Load(); n == 0 {
			return errors.New("no request hangs")
		}
		return nil
	})
}

// announcedSize is what a registry that hangs announces, in bytes.
const announcedSize = 60 << 20

// announced is the manifest of a module of this size.
func (a *attacker) announced(t *testing.T, i int) (manifest []byte, digest string) {
	t.Helper()
	packed, err := layout.Pack(fmt.Appendf(nil, "\x00asm\x01\x00\x00\x00%d", i), "operator.wasm", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.registry.Put(layout.MediaConfig, packed.Config)
	d := layout.Describe(layout.MediaModule, packed.Module)
	text := strings.ReplaceAll(string(packed.Manifest), fmt.Sprintf(`"size":%d`, d.Size), fmt.Sprintf(`"size":%d`, announcedSize))
	return []byte(text), d.Digest
}

// movingTag declares an operator by a tag that names two modules in turn. What runs is what was checked.
func movingTag(t *testing.T, a *attacker) {
	t.Helper()
	var digests []string
	script := func(version int) []byte { return a.script(t, on(fmt.Sprintf(`return "version %d";`, version))) }
	for version := range 2 {
		digests = append(digests, a.pack(t, fmt.Sprintf("%s-%d", a.tag(), version), script(version)))
	}
	a.gates.move(a.tag(), digests...)
	a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, "")
	a.create(t, "obj", "")
	result := a.handled(t, "obj")
	a.ready(t)
	status, err := a.status(a.namespace, operatorName)
	if err != nil {
		t.Fatal(err)
	}
	for version, digest := range digests {
		named, runs := strings.HasSuffix(status.Module, "@"+digest), result == fmt.Sprintf("version %d", version)
		if named != runs || runs != (status.Digest == layout.Digest(script(version))) {
			t.Errorf("it runs %v, and the status names %s", result, status.Module)
		}
	}
}

// privateModule declares an operator by the digest of a module that another tenant may fetch.
func privateModule(t *testing.T, a *attacker) {
	t.Helper()
	const password = "of the owner"
	module := a.script(t, `// `+a.namespace+"\n"+on(``))
	digest := a.pack(t, a.tag(), module)
	for _, name := range []string{a.tag(), digest, layout.Digest(module)} {
		a.gates.lock(name, password)
	}
	registry := a.registry.Ref("x").Registry
	owner := &attacker{attack: a.attack, house: a.house, neighbour: a.neighbour, namespace: a.Namespace(t)}
	owner.tenant(t, owner.namespace, "- {apiGroups: [''], resources: [secrets], resourceNames: [pull], verbs: [get]}")
	owner.ApplyIn(t, owner.namespace, fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: pull}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: '{"auths":{"%s":{"username":"u","password":"%s"}}}'}}`, registry, password))
	owner.house.declare(t, owner.namespace, operatorName, a.tag(), tenantName, ", pullSecrets: [pull]")
	owner.ready(t)
	a.declareModule(t, fmt.Sprintf("%s/%s@%s", registry, a.registry.Ref("x").Repository, digest))
}

// busyCompilers declares operators whose modules take compilers long, but not too long.
func busyCompilers(t *testing.T, a *attacker) {
	t.Helper()
	const many = 12
	for i := range many {
		tag := fmt.Sprintf("%s-%d", a.tag(), i)
		a.pack(t, tag, raw(func(m *rawModule) {
			m.registration = fmt.Sprintf(`{"handlers":[{"kind":"create","id":"fn%d","resource":{"args":["configmaps"]}}]}`, i)
			m.more = []rawFunc{nestedIfs(14_000 - i)}
		})())
		a.house.declare(t, a.namespace, fmt.Sprintf("%s-%d", operatorName, many-1-i), tag, tenantName, "")
	}
}

// nestedIfs sets one of a hundred variables in each of many nested blocks.
func nestedIfs(depth int) rawFunc {
	var code []byte
	for i := range depth {
		code = append(code, cat([]byte{0x20}, num(i%100), []byte{0x04, 0x40, 0x41, 1, 0x21}, num(i*7%100))...)
	}
	return rawFunc{locals: vector(cat(num(100), []byte{i32})), code: append(code, bytes.Repeat([]byte{end}, depth)...)}
}
