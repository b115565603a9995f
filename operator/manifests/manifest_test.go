package manifests

import (
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/google/go-cmp/cmp"
)

// The same manifest in all formats.
func TestParse(t *testing.T) {
	want := &Manifest{extism.Manifest{
		Wasm:   []extism.Wasm{extism.WasmFile{Path: "op.wasm", Hash: "ab", Name: "main"}},
		Memory: &extism.ManifestMemory{MaxPages: 100, MaxHttpResponseBytes: 5, MaxVarBytes: 6},
		Config: map[string]string{"a": "b"}, AllowedHosts: []string{"example.com"}, Timeout: 1000,
	}}
	for path, text := range map[string]string{
		"m.json": `{"wasm":[{"path":"op.wasm","hash":"ab","name":"main"}],"memory":{"max_pages":100,"max_http_response_bytes":5,"max_var_bytes":6},
			"config":{"a":"b"},"allowed_hosts":["example.com"],"timeout_ms":1000}`,
		"m.YAML": "wasm: [{path: op.wasm, hash: ab, name: main}]\nmemory: {max_pages: 100, max_http_response_bytes: 5, max_var_bytes: 6}\n" +
			"config: {a: b}\nallowed_hosts: [example.com]\ntimeout_ms: 1000\n",
	} {
		got, err := Parse(path, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestZeroIsNotTheDefault: 0 bytes of variables allow none, and an absent limit is the default.
func TestZeroIsNotTheDefault(t *testing.T) {
	for text, want := range map[string]extism.ManifestMemory{
		``:                              {MaxHttpResponseBytes: -1, MaxVarBytes: -1},
		`,"memory":{}`:                  {MaxHttpResponseBytes: -1, MaxVarBytes: -1},
		`,"memory":{"max_var_bytes":0}`: {MaxHttpResponseBytes: -1},
		`,"memory":{"max_http_response_bytes":0}`: {MaxVarBytes: -1},
	} {
		m, err := Parse("m.json", []byte(`{"wasm":[{"path":"op.wasm"}]`+text+`}`))
		if err != nil || *m.Memory != want {
			t.Errorf("%s: %+v, %v, want %+v", text, m, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const module = `"wasm":[{"path":"op.wasm"}]`
	tests := []struct{ name, path, text, want string }{
		{"an object of Kubernetes", "m.yaml", "apiVersion: v1\nkind: Pod", "it is an object of Kubernetes: name a module or a script, and apply objects by kubectl; kopf serve runs WasmOperators of a folder"},
		{"unknown field", "m.json", `{` + module + `,"color":1}`, `unknown field "color"`},
		{"unknown field of the module", "m.json", `{"wasm":[{"path":"x","size":1}]}`, `unknown field "size"`},
		{"unknown field in YAML", "m.yaml", "wasm: [{path: x}]\ncolour: 1", `unknown field "colour"`},
		{"repeated key", "m.yaml", "wasm: [{path: x}]\nwasm: [{path: y}]", "already set"},
		{"broken JSON", "m.json", `{`, "unexpected EOF"},
		{"broken YAML", "m.yaml", "a: [", "yaml"},
		{"more after it", "m.json", `{` + module + `} {}`, "after the manifest"},
		{"wrong type", "m.json", `{` + module + `,"timeout_ms":"1s"}`, "timeout_ms"},
		{"no module", "m.json", `{}`, "0 modules"},
		{"two modules", "m.json", `{"wasm":[{"path":"a"},{"path":"b"}]}`, "2 modules"},
		{"module of nowhere", "m.json", `{"wasm":[{"hash":"ab"}]}`, "either path or data"},
		{"module of two places", "m.json", `{"wasm":[{"path":"a","data":"b"}]}`, "either path or data"},
		{"URL", "m.json", `{"wasm":[{"url":"https://x/op.wasm"}]}`, "downloads are not supported"},
		{"paths", "m.json", `{` + module + `,"allowed_paths":{"/":"/"}}`, "modules cannot access files"},
		{"negative", "m.json", `{` + module + `,"timeout_ms":-1}`, "negative"},
		{"negative memory", "m.json", `{` + module + `,"memory":{"max_var_bytes":-1}}`, "negative"},
		{"more pages than numbers", "m.json", `{` + module + `,"memory":{"max_pages":8589934592}}`, "max_pages: at most 65536"},
		{"a part of a page", "m.json", `{` + module + `,"memory":{"max_var_bytes":1.5}}`, "memory.max_var_bytes: invalid value: number 1.5: want a whole number"},
		{"unknown limit", "m.json", `{` + module + `,"memory":{"pages":1}}`, `unknown field "pages"`},
		{"another case", "m.json", `{` + module + `,"Config":{}}`, `unknown field "Config"`},
		{"a list", "m.json", `[]`, "invalid value: array: want an object"},
		{"a text as memory", "m.json", `{` + module + `,"memory":"1"}`, "memory: invalid value: string: want an object"},
		{"headers of a file", "m.json", `{"wasm":[{"path":"x","headers":{}}]}`, `unknown field "headers"`},
		{"no base64", "m.json", `{"wasm":[{"data":"*"}]}`, "wasm: data: illegal base64"},
		{"too many pages", "m.json", `{` + module + `,"memory":{"max_pages":65537}}`, "max_pages: at most 65536"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse(tt.path, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestModule(t *testing.T) {
	const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc
	read := func(path string) ([]byte, error) {
		if path == "/etc/ops/op.wasm" || path == "/op.wasm" {
			return []byte("abc"), nil
		}
		return nil, os.ErrNotExist
	}
	data := base64.StdEncoding.EncodeToString([]byte("abc"))
	for name, tt := range map[string]struct{ module, fails string }{
		"next to the manifest": {`"path":"op.wasm","hash":"` + hash + `"`, ""},
		"absolute":             {`"path":"/op.wasm","hash":"` + strings.ToUpper(hash) + `"`, ""},
		"data":                 {`"data":"` + data + `","hash":"` + hash + `"`, ""},
		"wrong hash":           {`"path":"op.wasm","hash":"ab"`, "hash: the module has " + hash + ", not ab"},
		"missing":              {`"path":"other.wasm"`, "wasm: file does not exist"},
	} {
		m, err := Parse("m.json", []byte(`{"wasm":[{`+tt.module+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		wasm, err := m.Module("/etc/ops/op.yaml", read)
		if tt.fails == "" && (err != nil || string(wasm) != "abc") || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %q, %v", name, wasm, err)
		}
		if name == "missing" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v is not os.ErrNotExist", err)
		}
	}
}
