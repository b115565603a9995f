package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// refused checks that a command line has failed with the code and with one error
// of one line, which contains the texts.
func refused(t *testing.T, got result, code int, texts ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d", got.code, code)
	}
	if got.stdout != "" {
		t.Errorf("standard output: %q", got.stdout)
	}
	var errs []string
	for line := range strings.Lines(got.stderr) {
		if strings.HasPrefix(line, "Error: ") {
			errs = append(errs, line)
		}
	}
	if len(errs) != 1 {
		t.Fatalf("want one line with the error, got:\n%s", got.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(errs[0], text) {
			t.Errorf("the error lacks %q: %s", text, errs[0])
		}
	}
}

// document is the configuration of the guest "raw" that makes it register this.
func document(handlers ...string) []string {
	return []string{"--config", `document={"handlers":[` + strings.Join(handlers, ",") + `]}`}
}

// TestModuleIsRefused: what cannot be an operator is said at once, without a cluster.
func TestModuleIsRefused(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script.wasm")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const valid = `{"kind":"create","id":"fn","fn":"one","resource":{"args":["kopfexamples"]}}`
	tests := []struct {
		name   string
		module string // a guest, or a path
		args   []string
		want   []string
	}{
		{"missing file", "missing.wasm", nil, []string{"missing.wasm", "no such file"}},
		{"not a Wasm file", script, nil, []string{"script.wasm", "not a WebAssembly file"}},
		{"no marker", "plain", nil, []string{"plain.wasm", "not a Kopf guest", "kopf_abi_v1"}},
		{"newer ABI", "newer", nil, []string{"newer.wasm", "version 99 of the ABI", "newer host"}},
		{"unknown import", "foreign", nil, []string{"foreign.wasm", "foo.bar", "does not provide"}},
		{"registration panics", "raw", []string{"--config", "register=panic"}, []string{"raw.wasm", "panic: no registration today"}},
		{"broken JSON", "raw", []string{"--config", "document={"}, []string{"raw.wasm", "bad registration", "JSON"}},
		{"refused configuration", "raw", []string{"--config", `document={"error":"KEY is missing"}`}, []string{"raw.wasm", "KEY is missing"}},
		{"unknown kind", "raw", document(`{"kind":"upsert","id":"fn"}`), []string{"raw.wasm", `upsert handler "fn"`, "unknown kind"}},
		{"no field", "raw", document(`{"kind":"field","id":"fn","resource":{"args":["x"]}}`), []string{"raw.wasm", `field handler "fn"`, "option field is required"}},
		{
			"unknown option", "raw", document(`{"kind":"create","id":"fn","color":1,"resource":{"args":["x"]}}`),
			[]string{"raw.wasm", `create handler "fn"`, "unknown option color"},
		},
		{
			"option of another kind", "raw", document(`{"kind":"create","id":"fn","optional":true,"resource":{"args":["x"]}}`),
			[]string{"raw.wasm", `create handler "fn"`, "option optional is not for create handlers"},
		},
		{
			"two functions with one id", "raw", document(valid, strings.Replace(valid, "one", "two", 1)),
			[]string{"raw.wasm", `"fn"`, "one and two", "create"},
		},
		{"no resource", "raw", document(`{"kind":"create","id":"fn"}`), []string{"raw.wasm", `create handler "fn"`, "option resource is required"}},
		{
			"too long selector", "raw", document(`{"kind":"create","id":"fn","resource":{"args":["a","b","c","d"]}}`),
			[]string{"raw.wasm", `create handler "fn"`, "option resource", "4 arguments"},
		},
		{
			"ambiguous selector", "raw", document(`{"kind":"create","id":"fn","resource":{"plural":"x","kind":"X"}}`),
			[]string{"raw.wasm", `create handler "fn"`, "option resource", "ambiguous"},
		},
		{
			"contradictory filters", "raw", document(`{"kind":"update","id":"fn","field":["spec"],"value":1,"old":2,"resource":{"args":["x"]}}`),
			[]string{"raw.wasm", `update handler "fn"`, "option value cannot be combined with old or new"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			module := test.module
			if filepath.Ext(module) == "" {
				module = guest(t, module)
			}
			refused(t, kopf(t, nil, append([]string{"run", "-A", module}, test.args...)...), 1, test.want...)
		})
	}
}

// TestModulesWithOneHandlerID: several modules are one operator, so their handlers must not
// share an id, and with it the progress.
func TestModulesWithOneHandlerID(t *testing.T) {
	t.Parallel()
	raw := guest(t, "raw")
	copied := filepath.Join(t.TempDir(), "other.wasm")
	wasm, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, kopf(t, nil, "run", "-A", raw, copied), 1, `"breach"`, "raw.wasm", "other.wasm", "two functions")
}

// TestRegistrationIsLimited needs limits that the command line does not have.
func TestRegistrationIsLimited(t *testing.T) {
	t.Parallel()
	tests := []struct {
		how    string
		limits host.Options
		want   string
	}{
		{"spin", host.Options{ComputeLimit: 300 * time.Millisecond}, "computed too long: more than 300ms"},
		{"spin", host.Options{RegisterTimeout: 300 * time.Millisecond}, "registration took longer than 300ms"},
		{"sleep", host.Options{RegisterTimeout: 300 * time.Millisecond}, "registration took longer than 300ms"},
	}
	for _, test := range tests {
		t.Run(test.how+" "+test.want, func(t *testing.T) {
			t.Parallel()
			op, _ := newSpace(t).launch(t, options{guest: "raw", host: test.limits, config: map[string]string{"register": test.how}})
			select {
			case <-op.ended:
			case <-time.After(patience):
				t.Fatal("it is not stopped")
			}
			if op.err == nil || !strings.Contains(op.err.Error(), test.want) || !strings.HasPrefix(op.err.Error(), "raw.wasm: ") {
				t.Errorf("error = %v, want %q", op.err, test.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		env  []string
		want []string
	}{
		{"unknown command", []string{"walk"}, nil, []string{`unknown command "walk"`}},
		{"mistyped command", []string{"rnu"}, nil, []string{`unknown command "rnu": did you mean run`}},
		{"unknown flag", []string{"run", "--nope", "op.wasm"}, nil, []string{"--nope"}},
		{"no modules", []string{"run", "-A"}, nil, []string{"no modules"}},
		{"one namespace and all of them", []string{"run", "-n", "ns", "-A", "op.wasm"}, nil, []string{"--namespace", "--all-namespaces"}},
		{"no value", []string{"run", "-A", "--config", "key", "op.wasm"}, nil, []string{"--config", `"key"`, "KEY=VALUE"}},
		{"unknown format", []string{"run", "-A", "--log-format", "xml", "op.wasm"}, nil, []string{"--log-format", `"xml"`, "json"}},
		{"unknown format in the environment", []string{"run", "-A", "op.wasm"}, []string{"KOPF_RUN_LOG_FORMAT=xml"}, []string{`"xml"`}},
		{"a Python module", []string{"run", "-A", "-m", "operator"}, nil, []string{`-m "operator"`, "neither operator.py nor operator/__init__.py exists"}},
		{"two modules to inspect", []string{"inspect", "a.wasm", "b.wasm"}, nil, []string{"one module"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refused(t, kopf(t, test.env, test.args...), 2, test.want...)
		})
	}
}

func TestMissingConfiguration(t *testing.T) {
	t.Parallel()
	refused(t, kopf(t, nil, "run", "-A", "--config-file", "key=missing.txt", "op.wasm"), 1, "--config-file", "missing.txt", "no such file")
	refused(t, kopf(t, nil, "run", "-A", "--env", "NO_SUCH_VARIABLE", "op.wasm"), 1, "--env", "NO_SUCH_VARIABLE")
}
