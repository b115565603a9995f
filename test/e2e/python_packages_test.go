package e2e_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// pythonFolder writes files by their paths into a folder. A path NAME.whl/PATH is in a wheel.
func pythonFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	wheels := map[string]map[string]string{}
	for path, text := range files {
		if wheel, member, ok := strings.Cut(path, ".whl/"); ok {
			if wheels[wheel] == nil {
				wheels[wheel] = map[string]string{}
			}
			wheels[wheel][member] = text
			continue
		}
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for wheel, members := range wheels {
		writeWheel(t, filepath.Join(root, wheel+".whl"), members)
	}
	return root
}

func writeWheel(t *testing.T, path string, members map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for name, text := range members {
		member, err := w.Create(name)
		if err == nil {
			_, err = member.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// packaged is an operator with a module and a package of its author, and a package of others.
var packaged = map[string]string{
	"op.py": `
import kopf
import helpers
from own.texts import template

@kopf.on.create('kopfexamples')
def create_fn(spec, **_):
    return {'text': helpers.greet(template(), spec['field'])}
`,
	"helpers.py":       "import greeter\nimport importlib.metadata\ndef greet(text, name): return greeter.greet(text, name) + importlib.metadata.version('greeter')\n",
	"own/__init__.py":  "",
	"own/texts.py":     "import importlib.resources\ndef template(): return (importlib.resources.files('own') / 'hello.txt').read_text().strip()\n",
	"own/hello.txt":    "hello, {}!\n",
	"requirements.txt": "greeter",
	"wheels/greeter-1.5-py3-none-any.whl/greeter/__init__.py":            "from greeter.core import greet\n",
	"wheels/greeter-1.5-py3-none-any.whl/greeter/core.py":                "def greet(text, name): return text.format(name)\n",
	"wheels/greeter-1.5-py3-none-any.whl/greeter-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeter\nVersion: 1.5\n",
}

// TestPythonPackagesFromRegistry: a script is pushed as one module with its engine, its
// modules and its packages, and runs where there are none of them.
func TestPythonPackagesFromRegistry(t *testing.T) {
	t.Parallel()
	by := pythonEngine(t)
	s := newSpace(t)
	folder := pythonFolder(t, packaged)
	registry := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + registry.Host + "/operators/python:v1"
	pushed := kopf(t, nil, "push", folder+"/op.py", ref, "--engine", by, "--packages", folder+"/wheels")
	if pushed.code != 0 {
		t.Fatalf("exit code %d\n%s", pushed.code, pushed.stderr)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(pushed.stdout), "@")
	t.Cleanup(func() { kopf(t, nil, "rm", digest) })
	shown := kopf(t, nil, "inspect", ref)
	for _, want := range []string{"KOPF_SCRIPT_NAME=op.py", "helpers.py own/", "greeter 1.5", "create_fn"} {
		if !strings.Contains(shown.stdout, want) {
			t.Errorf("inspect does not show %s:\n%s%s", want, shown.stdout, shown.stderr)
		}
	}
	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig(), "XDG_DATA_HOME=" + folder}, "run", "-n", s.namespace, ref, "--limit", "RegisterTimeout=1m")
	if got := fmt.Sprint(s.handled(t, s.objectOf(t)).Object["status"]); got != "map[create_fn:map[text:hello, value!1.5]]" {
		t.Errorf("the status is %s", got)
	}
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestServedPythonPackages: a hosted operator is a script with its packages in one module.
func TestServedPythonPackages(t *testing.T) {
	t.Parallel()
	by := pythonEngine(t)
	folder := pythonFolder(t, packaged)
	if made := kopf(t, nil, "annotate", folder+"/op.py", "--output", folder+"/op.wasm", "--engine", by, "--packages", folder+"/wheels"); made.code != 0 {
		t.Fatalf("exit code %d\n%s", made.code, made.stderr)
	}
	h := hosted(t, identity.Token)
	h.pack(t, "v1", folder+"/op.wasm")
	h.serve(t, "-n", h.namespace, "--limit", "RegisterTimeout=1m")
	h.declare(t, "a", "v1", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	if got := fmt.Sprint(h.handled(t, h.objectOf(t)).Object["status"]); got != "map[create_fn:map[text:hello, value!1.5]]" {
		t.Errorf("the status is %s", got)
	}
}

// TestServedPythonFolder: a directory has a script with modules and packages, and one that imports a package
// which nothing packs: its error says what to do, and the other one works.
func TestServedPythonFolder(t *testing.T) {
	t.Parallel()
	by := pythonEngine(t)
	h := hosted(t, identity.Token)
	files := map[string]string{"bad.py": "import kopf\nimport absent\n@kopf.on.create('kopfexamples')\ndef other_fn(**_): pass\n"}
	for path, text := range packaged {
		files[path] = text
	}
	for _, name := range []string{"op", "bad"} {
		files[name+".yaml"] = fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: %s, namespace: %s}, spec: {module: %[1]s.py, serviceAccountName: tenant}}", name, h.namespace)
	}
	folder := pythonFolder(t, files)
	h.serve(t, folder, "--engine", by, "--packages", folder+"/wheels", "--limit", "RegisterTimeout=1m")
	h.process.says(t, "bad.py:2: ModuleNotFoundError: No module named 'absent': the sandbox has Python's standard library, kopf, and the packages that are packed with the script")
	if got := fmt.Sprint(h.handled(t, h.objectOf(t)).Object["status"]); got != "map[create_fn:map[text:hello, value!1.5]]" {
		t.Errorf("the status is %s", got)
	}
}

// TestPythonModules: -m imports a module of the current directory, and several scripts are
// one operator.
func TestPythonModules(t *testing.T) {
	t.Parallel()
	by := pythonEngine(t)
	folder := pythonFolder(t, map[string]string{
		"a.py":                  "import kopf\n@kopf.on.create('kopfexamples')\ndef create_fn(**_): return 'a'\n",
		"b.py":                  "import kopf\n@kopf.on.create('kopfexamples')\ndef other_fn(**_): return 'b'\n",
		"operators/main.py":     "from . import names\nimport kopf\n@kopf.on.create('kopfexamples')\ndef module_fn(**_): return names.NAME\n",
		"operators/names.py":    "NAME = __name__\n",
		"operators/__init__.py": "",
	})
	s := newSpace(t)
	cmd := command(t, []string{"KUBECONFIG=" + s.Kubeconfig()}, "run", "-n", s.namespace, "--engine", by, "--limit", "RegisterTimeout=1m", "-m", "operators.main", "a.py", "b.py")
	cmd.Dir = folder
	s.supervise(t, cmd)
	if got := fmt.Sprint(s.handled(t, s.objectOf(t)).Object["status"]); got != "map[create_fn:a module_fn:operators.names other_fn:b]" {
		t.Errorf("the status is %s", got)
	}
}

// TestPythonScriptIsRefused: what is wrong when a script is loaded, in one line.
func TestPythonScriptIsRefused(t *testing.T) {
	t.Parallel()
	by := pythonEngine(t)
	fn := "import kopf\n@kopf.on.create('kopfexamples')\ndef create_fn(**_): pass\n"
	for name, tt := range map[string]struct {
		files map[string]string
		flags []string
		want  string
	}{
		"syntax":               {map[string]string{"op.py": fn + "def f(:\n"}, nil, "op.py:4: SyntaxError: invalid syntax"},
		"syntax of a module":   {map[string]string{"op.py": "import helpers\n" + fn, "helpers.py": "\ndef f(:\n"}, nil, "helpers.py:2: SyntaxError: invalid syntax"},
		"missing package":      {map[string]string{"op.py": fn + "import absent\n"}, nil, "op.py:4: ModuleNotFoundError: No module named 'absent': the sandbox has Python's standard library, kopf, and the packages that are packed with the script"},
		"how to pack one":      {map[string]string{"op.py": fn + "import absent\n"}, nil, "packed with the script: pack others by --packages with a requirements.txt"},
		"standard library":     {map[string]string{"op.py": fn + "import sqlite3\n"}, nil, "op.py:4: ModuleNotFoundError: No module named 'sqlite3': the sandbox does not have this module of the standard library"},
		"requirements at hand": {map[string]string{"op.py": fn + "import absent\n", "requirements.txt": "absent"}, nil, "requirements.txt is next to the script: pack its packages by --packages "},
		"native package":       {map[string]string{"op.py": fn, "w/numpy-2.0-cp311-cp311-linux_x86_64.whl/numpy/core.so": ""}, []string{"--packages", "w"}, "--packages w: numpy has native code (numpy/core.so), which the sandbox cannot load: "},
		"too large":            {map[string]string{"op.py": fn, "wheels/big-1-py3-none-any.whl/big.py": "x = '" + strings.Repeat("x", 2000) + "'"}, []string{"--packages", "wheels", "--limit", "MaxFiles=1Ki"}, "--packages wheels: the packages are too large: "},
		"slow import":          {map[string]string{"op.py": fn + "import slow\n", "slow.py": "while True: pass\n"}, []string{"--limit", "ComputeLimit=2s", "--limit", "RegisterTimeout=2s"}, "op.py: "},
		"no handlers":          {map[string]string{"op.py": "import kopf\n"}, nil, "op.py declares no handlers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, nil, append([]string{"run", "op.py", "-A", "--engine", by}, tt.flags...)...)
			cmd.Dir = pythonFolder(t, tt.files)
			refused(t, ran(t, cmd), 1, tt.want)
		})
	}
}

// TestWarningsOfPythonAreShownBefore: commands that look at a script show what it loses here, before it runs.
func TestWarningsOfPythonAreShownBefore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"inspect", "build"} {
		cmd := command(t, nil, name, "op.py", "--engine", pythonEngine(t))
		cmd.Dir = pythonFolder(t, map[string]string{"op.py": "import kopf\nSEEN = {}\n@kopf.on.create('kopfexamples')\ndef create_fn(name, **_): SEEN[name] = 1\n"})
		if got := ran(t, cmd); got.code != 0 || !strings.Contains(got.stderr, "Warning: Handler 'create_fn' changes the global SEEN") {
			t.Errorf("%s: exit code %d, no warning in:\n%s", name, got.code, got.stderr)
		}
	}
}
