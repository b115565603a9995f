package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifest: a manifest of Extism next to the module, and the errors of bad manifests.
func TestManifest(t *testing.T) {
	t.Parallel()
	wasm, err := os.ReadFile(plugin(t, "c", "c-wasm.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("op.wasm", string(wasm))
	sum := sha256.Sum256(wasm)
	good := write("op.yaml", fmt.Sprintf("wasm: [{path: op.wasm, hash: %x}]\nmemory: {max_pages: 64}\nallowed_hosts: [example.com]\ntimeout_ms: 1000\n", sum))
	for name, tt := range map[string]struct {
		path string
		want []string
	}{
		"refused path":  {write("paths.yaml", "wasm: [{path: op.wasm}]\nallowed_paths: {/tmp: /tmp}"), []string{"paths.yaml", "allowed_paths: not supported: modules cannot access files"}},
		"wanted host":   {good, []string{"op.yaml wants more than it is granted", "--allow-host example.com"}},
		"wrong hash":    {write("hash.json", `{"wasm":[{"path":"op.wasm","hash":"00"}]}`), []string{"hash.json", "hash: the module has"}},
		"unknown field": {write("field.yaml", "pages: 1\nwasm: [{path: op.wasm}]\n"), []string{"field.yaml", `unknown field "pages"`}},
		"missing file":  {write("missing.yaml", "wasm: [{path: other.wasm}]"), []string{"missing.yaml", "other.wasm: no such file"}},
		"little memory": {write("memory.yaml", "wasm: [{path: op.wasm}]\nmemory: {max_pages: 1}"), []string{"memory.yaml", "memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, kopf(t, nil, "run", "-A", tt.path), 1, tt.want...)
		})
	}
	got := kopf(t, nil, "inspect", good)
	if got.code != 0 || !strings.Contains(got.stdout, "create_fn") || !strings.Contains(got.stdout, "--allow-host example.com") ||
		!strings.Contains(got.stdout, "plugin of Extism: whole messages, copied through the host; waits and requests hold an instance each") {
		t.Errorf("inspect of a good manifest: %+v", got)
	}
}

// TestManifestIsHonoured: hosts, timeouts, and the size of answers as a manifest says.
func TestManifestIsHonoured(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	server := httptest.NewServer(webHandler())
	t.Cleanup(server.Close)
	module, err := filepath.Abs(made(t, ".cache/guests/plugin-c.wasm", "c-wasm.sh", "test/guests/c/plugin"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "op.json")
	text := fmt.Sprintf(`{"wasm":[{"path":%q}],"allowed_hosts":[%q],"memory":{"max_http_response_bytes":1000},"timeout_ms":200}`, module, server.URL)
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	op := s.start(t, options{module: manifest, wanted: true})
	s.create(t, "small", `{url: "`+server.URL+`/echo"}`)
	if got := fmt.Sprint(s.handled(t, "small").Object["status"]); got != "map[create_fn:map[bytes:9 status:200]]" {
		t.Errorf("the result is %s", got)
	}
	s.create(t, "large", `{url: "`+server.URL+`/large"}`)
	op.says(t, "large", "a response of 2000000 bytes; the limit is 1000")
	s.create(t, "endless", `{spin: true}`)
	op.says(t, "endless", "200ms")
	s.create(t, "elsewhere", `{url: "http://localhost:1/"}`)
	op.says(t, "elsewhere", "the operator is not granted to reach http://localhost:1")
	for _, name := range []string{"large", "endless", "elsewhere"} {
		if got := s.handled(t, name).Object["status"]; got != nil {
			t.Errorf("%s has the status %v", name, got)
		}
	}
}
