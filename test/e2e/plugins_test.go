package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// plugin builds an example in a language of Extism. Without the language's tools
// the test is skipped, but never in CI.
func plugin(t *testing.T, language, script string) string {
	t.Helper()
	folder := repository + "/examples/extism/" + language
	watch(t, folder, repository+"/scripts")
	out := repository + "/.cache/guests/extism-" + language + ".wasm"
	if text, err := exec.Command(repository+"/scripts/"+script, out, folder).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", language, err, text)
	}
	if _, err := os.Stat(out); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: the plugin in %s is not built: `make guest-plugins` says what is missing", language)
	}
	return out
}

// TestPlugins: operators in other languages, made with development kits of Extism (G4).
func TestPlugins(t *testing.T) {
	t.Parallel()
	for language, script := range map[string]string{"rust": "rust-wasm.sh", "assemblyscript": "as-wasm.sh", "c": "c-wasm.sh"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			module := plugin(t, language, script)
			s := newSpace(t)
			op := s.start(t, options{module: module, calls: allowing(t, "patch:configmaps")})
			s.create(t, "x", `{field: value, other: [{a: "}"}]}`)
			want := map[string]any{"create_fn": map[string]any{"message": "hello, x"}, "seen": true}
			if diff := cmp.Diff(want, s.handled(t, "x").Object["status"]); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			op.says(t, "x", "info: a new object field=value")
			s.patch(t, "x", `{"spec": {"field": "new"}}`)
			op.says(t, "x", "error: Handler 'update_fn' failed temporarily: not yet")
			op.says(t, "x", "error: Handler 'update_fn' failed permanently: never")
			s.handled(t, "x")
		})
	}
}

// TestPluginReachesKubernetes: what is a step for others is a function for plugins.
func TestPluginReachesKubernetes(t *testing.T) {
	t.Parallel()
	module := plugin(t, "rust", "rust-wasm.sh")
	s := newSpace(t)
	op := s.start(t, options{module: module, calls: allowing(t, "patch:configmaps:"+s.namespace)})
	s.create(t, "granted", "{configMap: made}")
	s.handled(t, "granted")
	made, err := s.client(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Get(t.Context(), "made", metav1.GetOptions{})
	if err != nil || fmt.Sprint(made.Object["data"]) != "map[of:granted]" {
		t.Errorf("the object is %v, %v", made, err)
	}
	op.silent(t, "granted", "error")

	alone := newSpace(t)
	op = alone.start(t, options{module: module})
	alone.create(t, "denied", "{configMap: made}")
	op.says(t, "denied", "failed permanently: the operator is not granted to patch configmaps in "+alone.namespace+": --allow-kubernetes patch:configmaps")
}

// TestPluginIsRefused: a plugin with other exports is told apart from a module that is none at all.
func TestPluginIsRefused(t *testing.T) {
	t.Parallel()
	c := plugin(t, "c", "c-wasm.sh")
	wasm, err := os.ReadFile(c)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(wasm), "kopf_register", "count_vowels_") // of equal length
	path := t.TempDir() + "/vowels.wasm"
	if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, kopf(t, nil, "run", "-A", path), 1, "vowels.wasm", "a plugin of Extism, but no Kopf guest", "count_vowels_", "kopf_register")
}

// TestManifest: a manifest of Extism beside the module, and what is wrong with some.
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
		"wanted host":   {good, []string{"op.yaml wants more than it is granted", "--allow-host example.com"}},
		"wrong hash":    {write("hash.json", `{"wasm":[{"path":"op.wasm","hash":"00"}]}`), []string{"hash.json", "hash: the module has"}},
		"unknown field": {write("field.toml", "pages = 1\n[[wasm]]\npath = 'op.wasm'\n"), []string{"field.toml", `unknown field "pages"`}},
		"missing file":  {write("missing.yaml", "wasm: [{path: other.wasm}]"), []string{"missing.yaml", "other.wasm: no such file"}},
		"little memory": {write("memory.yaml", "wasm: [{path: op.wasm}]\nmemory: {max_pages: 1}"), []string{"memory.yaml", "memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, kopf(t, nil, "run", "-A", tt.path), 1, tt.want...)
		})
	}
	got := kopf(t, nil, "inspect", good)
	if got.code != 0 || !strings.Contains(got.stdout, "create_fn") || !strings.Contains(got.stdout, "--allow-host example.com") {
		t.Errorf("inspect of a good manifest: %+v", got)
	}
}
