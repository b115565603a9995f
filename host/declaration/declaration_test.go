package declaration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// module returns a module with a type section, a foreign custom section, and the given bytes.
func module(more ...byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00\x01\x01\x00\x00\x06\x04namex"), more...)
}

func declared(registration string) *declaration.Declaration {
	return &declaration.Declaration{Version: 1, Imports: []string{"kopf.log"}, Registration: json.RawMessage(registration)}
}

func TestEmbedAndRead(t *testing.T) {
	if d, err := declaration.Read(module()); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	first := declared(`{"handlers":[]}`)
	once, err := declaration.Embed(module(), first)
	if err != nil {
		t.Fatal(err)
	}
	second := declared(`{"handlers":[{"kind":"create","id":"f"}]}`)
	second.Annotations = map[string]string{"a": strings.Repeat("long", 100)}
	twice, err := declaration.Embed(once, second)
	if err != nil {
		t.Fatal(err)
	}
	got, err := declaration.Read(twice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, embedded := range [][]byte{once, twice, module()} {
		if bare, err := declaration.Remove(embedded); err != nil || !bytes.Equal(bare, module()) {
			t.Errorf("%q, %v", bare, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good, err := declaration.Embed(module(), declared(`{"handlers":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	section := good[len(module()):]
	custom := func(content string) []byte {
		name := string(rune(len(declaration.Section))) + declaration.Section
		return module([]byte("\x00" + string(rune(len(name)+len(content))) + name + content)...)
	}
	for name, wasm := range map[string][]byte{
		"no module":                  []byte("#!/bin/sh"),
		"a cut module":               good[:len(good)-1],
		"a section without an end":   module(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"two declarations":           append(bytes.Clone(good), section...),
		"no JSON":                    custom("{"),
		"a newer version":            custom(`{"version":2}`),
		"no version":                 custom(`{}`),
		"a registration of no shape": custom(`{"version":1,"registration":[]}`),
	} {
		if d, err := declaration.Read(wasm); !errors.Is(err, declaration.ErrMalformed) {
			t.Errorf("%s: %v, error %v", name, d, err)
		}
	}
}

func TestCheck(t *testing.T) {
	const registration = `{"sdk":"go","handlers":[{"kind":"create","id":"f","resource":{"args":["kopfexamples"]},"retries":3}]}`
	tests := []struct {
		name       string
		imports    []string
		registered string
		refused    string
	}{
		{"equal", []string{"kopf.log"}, registration, ""},
		{"equal but for spaces and order", []string{"kopf.log"}, `{"handlers": [{"id":"f","kind":"create","retries":3,"resource":{"args":["kopfexamples"]}}], "sdk":"go"}`, ""},
		{"one import more", []string{"kopf.call", "kopf.log"}, registration, "it imports kopf.call"},
		{"one import less", nil, registration, "it does not import kopf.log"},
		{"another number", []string{"kopf.log"}, strings.Replace(registration, "3", "3.5", 1), "its registration differs"},
		{"another resource", []string{"kopf.log"}, strings.Replace(registration, "kopfexamples", "secrets", 1), "its registration differs"},
		{"a capability", []string{"kopf.log"}, strings.Replace(registration, `"sdk"`, `"capabilities":{"http":["example.com"]},"sdk"`, 1), "its registration differs"},
		{"a field that this host does not know", []string{"kopf.log"}, strings.Replace(registration, `"sdk"`, `"new":1,"sdk"`, 1), "its registration differs"},
	}
	for _, tt := range tests {
		err := declared(registration).Check(tt.imports, []byte(tt.registered))
		if tt.refused == "" && err != nil || tt.refused != "" && (!errors.Is(err, declaration.ErrMismatch) || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.refused)
		}
	}
}

// A dynamic module may register less than it declares, and nothing else.
func TestDynamic(t *testing.T) {
	rule := func(groups, resources, verbs, namespaces string) abi.KubernetesRule {
		r := abi.KubernetesRule{Groups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), Verbs: strings.Split(verbs, ",")}
		if namespaces != "" {
			r.Namespaces = strings.Split(namespaces, ",")
		}
		return r
	}
	handler := func(kind abi.Kind, id, resource string) abi.Handler {
		return abi.Handler{Kind: kind, ID: id, Resource: &abi.Selector{Args: []abi.Raw{abi.Raw(fmt.Sprintf("%q", resource))}}}
	}
	registration := func(change func(r *abi.Registration)) *abi.Registration {
		r := &abi.Registration{
			Handlers: []abi.Handler{handler(abi.KindCreate, "f", "a"), handler(abi.KindEvent, "g", "b"), {Kind: abi.KindStartup, ID: "s"}},
			Capabilities: &abi.Capabilities{
				Kubernetes: []abi.KubernetesRule{rule("", "pods,jobs", "get,list", "team-a,team-b"), rule("apps", "*", "get", "")},
				HTTP:       []string{"example.com"}, Config: []string{"token"},
			},
		}
		change(r)
		return r
	}
	tests := []struct {
		name   string
		change func(r *abi.Registration)
		more   []string
	}{
		{"equal", func(*abi.Registration) {}, nil},
		{"nothing but a part of the configuration", func(r *abi.Registration) {
			*r = abi.Registration{Capabilities: &abi.Capabilities{Config: []string{"token"}}}
		}, nil},
		{"no capabilities", func(r *abi.Registration) { *r = abi.Registration{} }, []string{"the whole configuration"}},
		{"less", func(r *abi.Registration) {
			r.Handlers = r.Handlers[1:]
			r.Capabilities.Kubernetes, r.Capabilities.HTTP = []abi.KubernetesRule{rule("", "pods", "list", "team-b"), rule("apps", "deployments", "get", "")}, nil
		}, nil},
		{"another id", func(r *abi.Registration) { r.Handlers[0].ID = "other" }, nil},
		{"another kind", func(r *abi.Registration) { r.Handlers[1].Kind = abi.KindDelete }, []string{`delete handlers of {"args":["b"]}`}},
		{"another resource, twice", func(r *abi.Registration) {
			r.Handlers = append(r.Handlers, handler(abi.KindCreate, "x", "c"), handler(abi.KindCreate, "y", "c"))
		}, []string{`create handlers of {"args":["c"]}`}},
		{"an activity", func(r *abi.Registration) { r.Handlers[2].Kind = abi.KindLogin }, []string{"login handlers"}},
		{"another verb", func(r *abi.Registration) { r.Capabilities.Kubernetes[0].Verbs = []string{"delete"} }, []string{"delete of pods,jobs (team-a,team-b)"}},
		{"another group", func(r *abi.Registration) { r.Capabilities.Kubernetes[1].Groups = []string{"batch"} }, []string{"get of * in batch"}},
		{"all resources", func(r *abi.Registration) { r.Capabilities.Kubernetes[0].Resources = []string{"*"} }, []string{"get,list of * (team-a,team-b)"}},
		{"all namespaces", func(r *abi.Registration) { r.Capabilities.Kubernetes[0].Namespaces = nil }, []string{"get,list of pods,jobs"}},
		{"hosts and configuration", func(r *abi.Registration) {
			r.Capabilities.HTTP, r.Capabilities.Config = []string{"example.com", "evil.example"}, []string{"password"}
		}, []string{"requests to evil.example", "the configuration password"}},
		{"a thousand rules", func(r *abi.Registration) {
			r.Capabilities.Kubernetes = make([]abi.KubernetesRule, 1001)
		}, []string{"more than 1000 rules of requests to Kubernetes"}},
	}
	base := registration(func(*abi.Registration) {})
	text, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	d := declared(string(text))
	d.Dynamic = true
	for _, tt := range tests {
		r := registration(tt.change)
		if diff := cmp.Diff(tt.more, declaration.More(base, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		registered, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Check(d.Imports, registered)
		if (err == nil) != (tt.more == nil) || err != nil && !errors.Is(err, declaration.ErrMismatch) {
			t.Errorf("%s: error %v", tt.name, err)
		}
	}
	if more := declaration.More(&abi.Registration{}, base); len(more) != 6 {
		t.Errorf("beyond nothing: %q", more)
	}
}

func FuzzRead(f *testing.F) {
	good, _ := declaration.Embed(module(), declared(`{"handlers":[]}`))
	f.Add(good)
	f.Add(module(0, 0x80))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, err := declaration.Read(wasm)
		if bare, removeErr := declaration.Remove(wasm); removeErr == nil {
			if d, err := declaration.Read(bare); d != nil || err != nil {
				t.Errorf("a declaration stays: %v, %v", d, err)
			}
		} else if err == nil {
			t.Errorf("read, but not removed: %v", removeErr)
		}
	})
}
