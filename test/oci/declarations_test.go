package oci_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// What a module registers is declared, shown without running it, and compared.
func TestDeclaredRights(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	b.must("annotate", b.module(), "-o", "annotated.wasm", "-a", "org.opencontainers.image.source=https://example.com/source")
	b.must("push", "annotated.wasm", ref)
	shown := b.must("inspect", ref)
	for _, want := range []string{"https://example.com/source", "what it registers", "kopfexamples", "create_fn"} {
		if !strings.Contains(shown, want) {
			t.Errorf("inspect does not tell %s:\n%s", want, shown)
		}
	}
	var inspected struct {
		Declared declaration.Declaration `json:"declared"`
	}
	if err := json.Unmarshal([]byte(b.must("inspect", ref, "--json")), &inspected); err != nil || len(inspected.Declared.Registration) == 0 {
		t.Errorf("%+v, %v", inspected, err)
	}
	wasm, err := os.ReadFile(filepath.Join(b.home, "annotated.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	lie := func(name string, change func(d *declaration.Declaration)) {
		d, err := declaration.Read(wasm)
		if err != nil {
			t.Fatal(err)
		}
		change(d)
		lying, err := declaration.Embed(wasm, d)
		if err != nil {
			t.Fatal(err)
		}
		b.file(name, string(lying))
	}
	lie("less.wasm", func(d *declaration.Declaration) {
		d.Registration = json.RawMessage(strings.Replace(string(d.Registration), "create_fn", "innocent", 1))
	})
	lie("import.wasm", func(d *declaration.Declaration) { d.Imports = d.Imports[1:] })
	for name, words := range map[string]string{"less.wasm": "its registration differs", "import.wasm": "it imports kopf."} {
		for _, args := range [][]string{{"push", name, ref}, {"inspect", name}, {"run", name, "-n", "default"}} {
			b.refused(4, []string{name, words}, args...)
		}
	}
	b.refused(2, []string{"--dynamic"}, "annotate", b.module(), "--config", "a=b")
	b.refused(1, []string{"not a WebAssembly"}, "annotate", b.file("text.wasm", "text"))

	b.must("annotate", "annotated.wasm", "--dynamic", "--config", "any=thing")
	b.must("push", "annotated.wasm", ref)
	if shown := b.must("inspect", ref); !strings.Contains(shown, "the most that it registers") {
		t.Errorf("inspect:\n%s", shown)
	}
}
