package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/pathtest"
)

// Scripts of the manual do in a simulated cluster what their scenarios say: docs/snippets/scenarios
// has a file for each page, for the languages of scripts.
func TestSnippetsOfScripts(t *testing.T) {
	t.Parallel()
	engines := filepath.Join(root, "bin", "engines")
	for _, engine := range []string{"javascript.wasm", "python.wasm"} {
		if _, err := os.Stat(filepath.Join(engines, engine)); err != nil {
			skip(t, engine+" is not built: run 'make engines'")
		}
	}
	program := buildProgram(t)
	if err := os.Symlink(pathtest.Absolute(t, engines), filepath.Join(filepath.Dir(program), "engines")); err != nil {
		t.Fatal(err)
	}
	folder, tested := t.TempDir(), 0
	for _, path := range slices.Concat(files(t, "docs/snippets/python", ".py"), files(t, "docs/snippets/javascript", ".js")) {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		read(t, path) // so that the cache of go test knows
		switch name {
		case "clients": // it needs packages
			compilePython(t, path)
			continue
		case "admission": // its settings need grants, which scenarios do not have
			run(t, program, "inspect", filepath.Join(root, path))
			continue
		}
		scenarios := "module: " + pathtest.Absolute(t, filepath.Join(root, path)) + "\n" + read(t, "docs/snippets/scenarios/"+name+".yaml")
		file := filepath.Join(folder, name+strings.ReplaceAll(filepath.Ext(path), ".", "_")+"_test.yaml")
		if err := os.WriteFile(file, []byte(scenarios), 0o600); err != nil {
			t.Fatal(err)
		}
		tested++
	}
	compilePython(t, "docs/snippets/testing/test_operator.py")
	if output := run(t, program, "test", folder); !strings.HasSuffix(output, fmt.Sprintf("\n%d passed, 0 failed\n", tested)) {
		t.Errorf("%d scripts:\n%s", tested, output)
	}
	scenariosOfExamples(t, program)
}

// scenariosOfExamples tests the twins of the example 09-testing in all languages by its scenarios.
func scenariosOfExamples(t *testing.T, program string) {
	t.Helper()
	const example = "examples/09-testing"
	read(t, example+"/operator_test.yaml") // so that the cache of go test knows
	for language, module := range map[string]string{
		"JavaScript": example + "/operator.js", "Python": example + "/example.py", "Go": ".cache/guests/09-testing.wasm", "Rust": ".cache/guests/rust-09-testing.wasm",
	} {
		t.Run(language, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(root, module)); err != nil {
				skip(t, module+" is not built: run 'make guest-examples'")
			}
			read(t, module)
			output := run(t, program, "test", filepath.Join(root, example), "--module", pathtest.Absolute(t, filepath.Join(root, module)))
			if !strings.HasSuffix(output, "2 passed, 0 failed\n") {
				t.Error(output)
			}
		})
	}
}

// run runs a program to its end, which must be good, and returns its output.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, output)
	}
	return string(output)
}

// compilePython checks the syntax of a file that cannot be loaded.
func compilePython(t *testing.T, path string) {
	t.Helper()
	read(t, path)
	run(t, "python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", filepath.Join(root, path))
}
