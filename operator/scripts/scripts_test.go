package scripts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
)

func TestIsScript(t *testing.T) {
	for name, want := range map[string]bool{
		"op.js": true, "dir/OP.JS": true, "op.mjs": true, "op.ts": true, "op.py": true,
		"op.wasm": false, "op.json": false, "js": false, "op": false,
	} {
		if got := Is(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEngineIsFound(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	if got, err := Engine("op.js", "given.wasm"); err != nil || got != "given.wasm" {
		t.Errorf("the given one: %q, %v", got, err)
	}
	_, err := Engine("dir/op.js", "")
	want := filepath.Join(data, "kopf", "engines", "javascript.wasm")
	if !errors.Is(err, ErrNoEngine) || !strings.HasPrefix(err.Error(), "op.js: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--engine") {
		t.Errorf("no engine: %v", err)
	}
	if err := os.MkdirAll(want, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Engine("op.js", ""); err == nil {
		t.Errorf("a folder is taken for an engine: %s", got)
	}
	if err := os.Remove(want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Engine("op.mjs", ""); err != nil || got != want {
		t.Errorf("in the folder of data: %q, %v", got, err)
	}
	if got, err := Engine("op.py", ""); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), filepath.Join(data, "kopf", "engines", "python.wasm")) {
		t.Errorf("the engine of another language: %q, %v", got, err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := places("x.wasm")[0]; filepath.Dir(filepath.Dir(got)) != filepath.Dir(program) {
		t.Errorf("the directory of the program is not the first one: %s", got)
	}
}

// Languages without an engine say what to do, whatever engine is given.
func TestLanguagesWithoutEngine(t *testing.T) {
	for name, want := range map[string]string{"op.ts": "esbuild", "op.rs": "kopf build"} {
		if got, err := Engine(name, "given.wasm"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestEmbed(t *testing.T) {
	module := []byte("\x00asm\x01\x00\x00\x00")
	engine, err := declaration.Embed(module, &declaration.Declaration{Version: 1, Registration: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	made, err := Embed(engine, "some/dir/op.js", []byte("1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := configuration.Read(made)
	if err != nil || config[KeyText] != "1" || config[KeyName] != "op.js" || len(config) != 2 {
		t.Errorf("%v, %v", config, err)
	}
	if d, err := declaration.Read(made); d != nil || err != nil {
		t.Errorf("it declares what the engine does: %v, %v", d, err)
	}
	if made, err = Embed(engine, "op.py", []byte("\ufeffimport kopf"), nil); err != nil {
		t.Fatal(err)
	}
	if config, err = configuration.Read(made); err != nil || config[KeyText] != "import kopf" {
		t.Errorf("with a byte order mark: %q, %v", config[KeyText], err)
	}
	if _, err := Embed([]byte("text"), "op.js", nil, nil); err == nil {
		t.Error("an engine that is not a module is accepted")
	}
	if _, err := Embed(engine, "some/dir/op.py", []byte("import kopf\nname = '\xff'\n"), nil); !errors.Is(err, ErrEncoding) || !strings.HasPrefix(err.Error(), "op.py:2: ") {
		t.Errorf("a script in Latin-1: %v", err)
	}
}
