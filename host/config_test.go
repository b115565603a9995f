package host

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
)

// registers is a configuration by which the guest registers handlers that want these keys.
func registers(keys string) map[string]string {
	return map[string]string{
		"register": "document", "key": "value", "other": "x",
		"document": `{"handlers":[{"kind":"create","id":"config","resource":{"args":["pods"]}}],"capabilities":{"config":[` + keys + `]}}`,
	}
}

// A module that says which keys of the configuration it wants gets these and its own, at its
// registration and later. One that does not say it gets all.
func TestModulesSeeOnlyDeclaredKeys(t *testing.T) {
	for _, test := range []struct {
		name, keys  string
		key, secret string // what the guest reads; -1: nothing
	}{
		{"all, as it says nothing", ``, "value", "hush"},
		{"one key", `"register","document","key"`, "value", "-1"},
		{"a secret", `"register","document","secret"`, "-1", "hush"},
	} {
		for _, clones := range []bool{true, false} {
			t.Run(test.name, func(t *testing.T) {
				m, err := load(t, guestBytes(t), Options{NoClones: !clones, Config: registers(test.keys), Secrets: map[string]string{"secret": "hush"}})
				if err != nil {
					t.Fatal(err)
				}
				if got := readConfig(t, m); got["config"] != test.key || got["secret"] != test.secret {
					t.Errorf("it reads %q and %q, want %q and %q", got["config"], got["secret"], test.key, test.secret)
				}
			})
		}
	}
}

func readConfig(t *testing.T, m *Module) map[string]any {
	t.Helper()
	got := map[string]any{}
	if err := json.Unmarshal([]byte(result(t, m, "questions", &testEnv{})), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// What a module registers must not depend on keys that it does not say it wants.
func TestRegistrationsFromUndeclaredKeysAreRefused(t *testing.T) {
	_, err := load(t, guestBytes(t), Options{Config: registers(`"key"`)})
	if err == nil || !strings.Contains(err.Error(), "with the keys of the configuration that it wants (capabilities.config), and no others") {
		t.Errorf("error = %v", err)
	}
}

// A module that declares its keys is never asked with others.
func TestDeclaredConfiguration(t *testing.T) {
	config := registers(`"register","document","key"`)
	wasm, err := declaration.Embed(guestBytes(t), &declaration.Declaration{Version: 1, Registration: []byte(config["document"])})
	if err != nil {
		t.Fatal(err)
	}
	m := &Module{options: Options{Config: config, Secrets: map[string]string{"secret": "hush"}}}
	d, err := declaration.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.configure(wasm, d); err != nil {
		t.Fatal(err)
	}
	delete(config, "other")
	if diff := cmp.Diff(config, m.options.Config); diff != "" || len(m.options.Secrets) != 0 {
		t.Errorf("(-want +got):\n%s\nsecrets %v", diff, m.options.Secrets)
	}
}

// What a module carries is its own; a value from outside for a key that it does not want is not.
func TestCarriedConfigurationIsItsOwn(t *testing.T) {
	config := registers(`"register","document"`)
	carried := maps.Clone(config)
	carried["key"] = "its own"
	wasm, err := configuration.Embed(guestBytes(t), carried)
	if err != nil {
		t.Fatal(err)
	}
	m, err := load(t, wasm, Options{Config: map[string]string{"key": "from outside"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := readConfig(t, m); got["config"] != "its own" {
		t.Errorf("it reads %q", got["config"])
	}
}
