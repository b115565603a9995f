package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMistakesWithTools: each common mistake in a command line or a file is one error that says
// where it is.
func TestMistakesWithTools(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	writeFiles(t, map[string]string{
		"obj.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "bad.yaml": "a: b\n c: d\n", "two.yaml": "kind: A\n---\nkind: B\n", "nokind.yaml": "a: b\n",
		"answers.yaml": "- {request: GTE /}\n", "foreign.wasm": "\x00asm\x01\x00\x00\x00", "x_test.yaml": "scenaros: []\n", "module_test.yaml": "scenarios: [{name: x, steps: []}]\n",
		"settings.yaml": "execution: {max_worker: 1}\n", "a.rec": "text\n", "new.rec": `{"kopfRecording":99}` + "\n", "cut.rec": `{"kopfRecording":1}` + "\n" + `{"n":1,`,
	})
	tests := []struct {
		line string
		code exitCode
		says string
	}{
		{"invoke", exitUsage, "name a module, a handler and a file with an object"},
		{"invoke foreign.wasm", exitUsage, "name a handler of foreign.wasm: kopf inspect shows them"},
		{"invoke foreign.wasm fn a b", exitUsage, "4 arguments: want a module, a handler and one file"},
		{"invoke foreign.wasm fn bad.yaml", exitError, "bad.yaml:2:2: invalid YAML: mapping values are not allowed in this context"},
		{"invoke foreign.wasm fn two.yaml", exitError, "two.yaml:3:1: a second object: a handler is called with one"},
		{"invoke foreign.wasm fn nokind.yaml", exitError, "nokind.yaml:1:1: the object has no kind"},
		{"invoke foreign.wasm fn missing.yaml", exitError, "missing.yaml: no such file"},
		{"invoke foreign.wasm fn obj.yaml", exitError, "it is not a Kopf guest"},
		{"invoke foreign.wasm fn obj.yaml --reason craete", exitUsage, `--reason "craete": did you mean create?`},
		{"invoke foreign.wasm fn obj.yaml --answers answers.yaml", exitError, `answers.yaml:1:13: unknown method "GTE": did you mean GET?`},
		{"invoke foreign.wasm fn obj.yaml --param x", exitUsage, `--param "x": want KEY=VALUE`},
		{"invoke foreign.wasm fn obj.yaml --memo x=[", exitUsage, `--memo "x=[": --memo:1:1: invalid YAML`},
		{"invoke foreign.wasm fn obj.yaml --retry -1", exitUsage, "--retry -1: want a number of attempts"},
		{"invoke foreign.wasm fn obj.yaml --timeout 0", exitUsage, "--timeout 0s: want a time, like 10s"},
		{"invoke foreign.wasm fn obj.yaml --settings settings.yaml", exitUsage, "settings.yaml: "},
		{"invoke foreign.wasm fn obj.yaml -o xml", exitUsage, `invalid argument "xml" for "-o, --output" flag: want text, json or yaml`},
		{"test missing", exitError, "missing: no such file"},
		{"test cache", exitError, "no such file"},
		{"test x_test.yaml", exitError, `x_test.yaml:1:1: unknown key "scenaros": did you mean scenarios?`},
		{"test module_test.yaml", exitError, "module_test.yaml: no module: name it in the file (module: operator.wasm), or with --module"},
		{"test module_test.yaml --module foreign.wasm", exitError, "it is not a Kopf guest"},
		{"test module_test.yaml --run [", exitUsage, "--run: "},
		{"replay", exitUsage, "name one recording"},
		{"replay missing.rec", exitError, "missing.rec: no such file"},
		{"replay a.rec", exitError, "a.rec: this is no recording of kopf run --record"},
		{"replay new.rec", exitError, "new.rec: the recording is of a newer version of kopf: replay it with that version: version 99"},
		{"replay cut.rec", exitError, "cut.rec: the recording is truncated: the operator was killed, or its disk was full: line 2 is incomplete (--truncated replays what is left)"},
		{"run foreign.wasm -A --dev --record a.rec", exitUsage, "use neither --dev nor --follow"},
		{"run foreign.wasm -A --record a.rec --record-limit much", exitUsage, "--record-limit much: want a size, like 64Mi"},
	}
	for _, tt := range tests {
		code, stdout, stderr := kopf(tt.line)
		if code != tt.code {
			t.Errorf("kopf %s: exit code %d, want %d", tt.line, code, tt.code)
		}
		if !strings.Contains(stderr, tt.says) || strings.Count(stderr, "Error: ") != 1 || stdout != "" {
			t.Errorf("kopf %s: want %q in\n%s%s", tt.line, tt.says, stderr, stdout)
		}
	}
}

// kopf runs a command line.
func kopf(line string) (code exitCode, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(strings.Fields(line), &out, &errs)
	return code, out.String(), errs.String()
}

// TestToolsRunModules: results are printed, and the exit code says whether the handler, or a
// scenario, has failed.
func TestToolsRunModules(t *testing.T) {
	guests, err := filepath.Abs(filepath.Join("..", "..", "test", "guests", "go"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", filepath.Join(must(os.Getwd()), "random.wasm"), "./random")
	cmd.Dir = guests
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	const object = "{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: value}}"
	writeFiles(t, map[string]string{
		"obj.yaml": object, "old.yaml": strings.Replace(object, "value", "other", 1),
		"good_test.yaml": "module: random.wasm\nconfig: {TOKEN: x}\nscenarios:\n- name: good\n  steps:\n  - apply: obj.yaml\n  - expect: {calls: {create_fn: 3}, objects: {kind: KopfExample, metadata: {name: a}, status: {token: x}}}\n",
		"bad_test.yaml":  "module: random.wasm\nscenarios:\n- name: bad\n  steps:\n  - apply: obj.yaml\n  - expect: {calls: {create_fn: 4}}\n",
	})
	tests := []struct {
		line string
		code exitCode
		says []string
	}{
		{"invoke random.wasm create_fn obj.yaml --retry 2 --config TOKEN=secret", exitOK, []string{"create_fn (create) succeeded\nresult:\n", "patch:\n  status:\n    token: secret\n", "memo:\n  begun: ", "log:\n  info     created token=secret\n"}},
		{"invoke random.wasm create_fn obj.yaml", exitFailed, []string{"create_fn (create) failed (temporary, again after 0.1 seconds): map["}},
		{"invoke random.wasm panic_fn obj.yaml --old old.yaml -o json", exitFailed, []string{`"handler": "panic_fn"`, `"message": "`, "a broken handler"}},
		{"invoke random.wasm panic_fn obj.yaml --old old.yaml -o yaml", exitFailed, []string{"handler: panic_fn\n"}},
		{"test good_test.yaml", exitOK, []string{"ok   good_test.yaml: good (", "1 passed, 0 failed\n"}},
		{"test --junit report.xml", exitFailed, []string{"FAIL bad_test.yaml: bad (", "  bad_test.yaml:6:22: calls of create_fn\n    - 4\n    + 3\n", "1 passed, 1 failed\n"}},
	}
	for _, tt := range tests {
		code, stdout, stderr := kopf(tt.line)
		if code != tt.code {
			t.Errorf("kopf %s: exit code %d, want %d\n%s", tt.line, code, tt.code, stderr)
		}
		for _, text := range tt.says {
			if !strings.Contains(stdout, text) {
				t.Errorf("kopf %s: want %q in\n%s", tt.line, text, stdout)
			}
		}
	}
	if report, err := os.ReadFile("report.xml"); err != nil || !strings.Contains(string(report), `tests="2" failures="1"`) {
		t.Errorf("the report: %s, error %v", report, err)
	}
	_, stdout, _ := kopf("test -o json")
	var all []struct{ Failed bool }
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 2 || !all[0].Failed || all[1].Failed {
		t.Errorf("as JSON: %s, error %v", stdout, err)
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}
