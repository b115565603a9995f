package manifests

import (
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same manifest in all formats.
func TestParse(t *testing.T) {
	want := &Manifest{
		Wasm:   []Module{{Path: "op.wasm", Hash: "ab", Name: "main"}},
		Memory: Memory{MaxPages: 100, MaxHTTPResponseBytes: 5, MaxVarBytes: 6},
		Config: map[string]string{"a": "b"}, AllowedHosts: []string{"example.com"}, TimeoutMS: 1000,
	}
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

func TestParseRefuses(t *testing.T) {
	const module = `"wasm":[{"path":"op.wasm"}]`
	tests := []struct{ name, path, text, want string }{
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
	for name, tt := range map[string]struct {
		module Module
		fails  string
	}{
		"next to the manifest": {Module{Path: "op.wasm", Hash: hash}, ""},
		"absolute":             {Module{Path: "/op.wasm", Hash: strings.ToUpper(hash)}, ""},
		"data":                 {Module{Data: data, Hash: hash}, ""},
		"wrong hash":           {Module{Path: "op.wasm", Hash: "ab"}, "hash: the module has " + hash + ", not ab"},
		"missing":              {Module{Path: "other.wasm"}, "wasm: file does not exist"},
		"no base64":            {Module{Data: "*"}, "wasm: illegal base64"},
	} {
		m := &Manifest{Wasm: []Module{tt.module}}
		wasm, err := m.Module("/etc/ops/op.yaml", read)
		if tt.fails == "" && (err != nil || string(wasm) != "abc") || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %q, %v", name, wasm, err)
		}
		if name == "missing" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v is not os.ErrNotExist", err)
		}
	}
}
