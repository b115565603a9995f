package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/test/sources"
)

// made builds a module by a script of this repository that may lack its tools. Then
// the test is skipped, but never in CI.
func made(t *testing.T, out, script, folder string) string {
	t.Helper()
	return madeOf(t, out, script, folder, repository+"/"+folder)
}

// madeOf builds a module by a script with arguments of its own after the output.
func madeOf(t *testing.T, out, script, folder string, args ...string) string {
	t.Helper()
	sources.Watch(t, folder, "scripts")
	out = repository + "/" + out
	if text, err := exec.Command(repository+"/scripts/"+script, append([]string{out}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", out, err, text)
	}
	if _, err := os.Stat(out); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %s is not built: scripts/%s says what is missing", out, script)
	}
	return out
}

// plugin builds an example in a language of Extism.
func plugin(t *testing.T, language, script string) string {
	t.Helper()
	return made(t, ".cache/guests/extism-"+language+".wasm", script, "examples/extism/"+language)
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
	made, err := s.client(configMaps).Get(t.Context(), "made", metav1.GetOptions{})
	if err != nil || fmt.Sprint(made.Object["data"]) != "map[of:granted]" {
		t.Errorf("the object is %v, %v", made, err)
	}
	op.silent(t, "granted", "error")

	alone := newSpace(t)
	op = alone.start(t, options{module: module})
	alone.create(t, "denied", "{configMap: made}")
	op.says(t, "denied", "failed permanently: the operator is not granted to patch configmaps in "+alone.namespace+": --allow-kubernetes patch:configmaps")
}

// TestPluginIsRefused: the error of a plugin with other exports differs from that of a module that is not a plugin.
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
	refused(t, kopf(t, nil, "run", "-A", path), 1, "vowels.wasm", "a plugin of Extism, but not a Kopf guest", "count_vowels_", "kopf_register")
}
