package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/internal/pathtest"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/sources"
)

// greetings are what operators of `kopf new` handle.
var greetings = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "greetings"}

// project writes an operator by `kopf new`, with the SDKs of this repository.
func project(t *testing.T, language, template string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "greeter")
	if r := kopf(t, nil, "new", folder, "--lang", language, "--template", template, "--sdk", repository); r.code != 0 {
		t.Fatalf("kopf new: %+v", r)
	}
	switch language {
	case "rust": // the versions that are here
		copyOf(t, repository+"/examples/Cargo.lock", folder+"/Cargo.lock")
	case "assemblyscript": // likewise
		packages := pathtest.Absolute(t, repository+"/.cache/npm/assemblyscript/node_modules")
		if err := os.Symlink(packages, folder+"/node_modules"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(packages); err != nil && os.Getenv("CI") != "true" {
			t.Skipf("SKIPPED: make guest-plugins: %v", err)
		}
	}
	return folder
}

func copyOf(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// authored builds a new operator, and returns its module, or its script with the engine.
func authored(t *testing.T, language, folder string) (module, by string) {
	t.Helper()
	args := []string{"build", folder}
	switch language {
	case "javascript":
		module, by = folder+"/operator.js", engine(t)
	case "python":
		module, by = folder+"/handlers.py", pythonEngine(t)
	default:
		module = folder + "/greeter.wasm"
	}
	if by != "" {
		args = append(args, "--engine", by)
	}
	// The crates of Rust are built once, for all guests. C needs Debian's names of clang.
	cmd := command(t, []string{"CARGO_TARGET_DIR=" + pathtest.Absolute(t, repository+"/.cache/rust/target")}, args...)
	text, err := cmd.CombinedOutput() // a busy machine builds for minutes
	if cmd.ProcessState.ExitCode() == 6 && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %s", text)
	}
	if err != nil || !strings.Contains(string(text), "2 handlers (") {
		t.Fatalf("kopf build: %v\n%s", err, text)
	}
	return module, by
}

// scenarios runs those of a new operator.
func scenarios(t *testing.T, folder, by string) {
	t.Helper()
	args := []string{"test", folder}
	if by != "" {
		args = append(args, "--engine", by, "--limit", "RegisterTimeout=1m")
	}
	if text, err := command(t, nil, args...).CombinedOutput(); err != nil || !strings.Contains(string(text), ", 0 failed") {
		t.Errorf("kopf test: %v\n%s", err, text)
	}
}

// TestNewOperators: an operator of `kopf new` in each language is built by `kopf build`, and
// passes its scenarios and handles an object. Plugins also make requests, by their own helpers.
func TestNewOperators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, template string }{
		{"go", "minimal"},
		{"rust", "minimal"},
		{"javascript", "minimal"},
		{"python", "minimal"},
		{"assemblyscript", "children"},
		{"c", "children"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			sources.Watch(t, "guest-sdks/go", "guest-sdks/rust", "abi")
			folder := project(t, c.language, c.template)
			module, by := authored(t, c.language, folder)
			scenarios(t, folder, by)
			s := newSpace(t)
			for _, file := range []string{"crd.yaml", "obj.yaml"} {
				text, err := os.ReadFile(filepath.Join(folder, file))
				if err != nil {
					t.Fatal(err)
				}
				s.ApplyIn(t, s.namespace, string(text))
			}
			s.start(t, options{module: module, wanted: true, change: func(o *operator.Options) {
				o.Engine, o.Host.RegisterTimeout = by, patience
			}})
			want := map[string]string{"minimal": "map[said:hello, world]", "children": "map[copy:hello-copy]"}[c.template]
			s.eventually(t, func() error {
				object, err := s.client(greetings).Get(t.Context(), "hello", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if got := fmt.Sprint(object.Object["status"]); got != want {
					return fmt.Errorf("the status is %s, want %s", got, want)
				}
				return nil
			})
			if c.template != "children" {
				return
			}
			made, err := s.client(configMaps).Get(t.Context(), "hello-copy", metav1.GetOptions{})
			if err != nil || fmt.Sprint(made.Object["data"]) != "map[text:hello, world]" || len(made.GetOwnerReferences()) != 1 {
				t.Errorf("the copy is %v, %v", made, err)
			}
		})
	}
}

// TestDevelopment: `kopf dev` replaces the running operator at each save, and a compile error leaves the
// earlier one.
func TestDevelopment(t *testing.T) {
	t.Parallel()
	folder := project(t, "c", "minimal")
	authored(t, "c", folder) // or skip
	s := newSpace(t)
	definition, err := os.ReadFile(folder + "/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.ApplyIn(t, s.namespace, string(definition))
	source := pathtest.Absolute(t, folder+"/main.c")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	greet := func(name, want string) {
		t.Helper()
		s.ApplyIn(t, s.namespace, `{apiVersion: example.com/v1, kind: Greeting, metadata: {name: `+name+`}, spec: {text: hi}}`)
		s.eventually(t, func() error {
			object, err := s.client(greetings).Get(t.Context(), name, metav1.GetOptions{})
			if got := fmt.Sprint(object.Object["status"]); err == nil && got != want {
				err = fmt.Errorf("the status of %s is %s, want %s", name, got, want)
			}
			return err
		})
	}

	save("oops")
	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig()}, "dev", folder, "-n", s.namespace, "--standalone")
	op.says(t, "Waiting for a change of "+folder)
	save(string(text))
	greet("first", "map[said:hi]")

	save(strings.Replace(string(text), "return 0;", "return 0 oops;", 1))
	op.says(t, "The previous version continues.")
	if !strings.Contains(op.stderr.String(), "main.c:") {
		t.Error("the compiler's message is missing")
	}
	greet("second", "map[said:hi]")

	save(strings.Replace(string(text), `\"said\":`, `\"told\":`, 1))
	op.says(t, "Reloaded in ")
	greet("third", "map[told:hi]")
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
