package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/operator/diagnoses"
)

// withoutCluster is an environment whose cluster does not answer.
func withoutCluster(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	text := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: x, user: {token: x}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	t.Setenv("XDG_CACHE_HOME", dir)
	return config
}

func TestDoctorPrintsDataAndFails(t *testing.T) {
	config := withoutCluster(t)
	for format, parse := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, to any) error { return yaml.Unmarshal(text, to) },
	} {
		var stdout, stderr strings.Builder
		code := run([]string{"doctor", "--kubeconfig", config, "-o", format}, &stdout, &stderr)
		var report diagnoses.Report
		if err := parse([]byte(stdout.String()), &report); err != nil {
			t.Fatalf("%v: %s", err, &stdout)
		}
		broken := slices.ContainsFunc(report.Findings, func(f diagnoses.Finding) bool {
			return f.About == "cluster" && f.Level == diagnoses.Problem && strings.Contains(f.Text, "http://127.0.0.1:1 does not answer")
		})
		if code != exitError || !broken || !strings.Contains(stderr.String(), "Error: there is a problem") {
			t.Errorf("-o %s: exit code %d, %s%s", format, code, &stdout, &stderr)
		}
	}
	var stdout strings.Builder
	run([]string{"doctor", "--kubeconfig", config, "--context", "y"}, &stdout, &strings.Builder{})
	if !strings.Contains(stdout.String(), `there is no context "y": it has x`) {
		t.Errorf("another context: %s", &stdout)
	}
}

func TestDoctorLoadsModulesWithoutACluster(t *testing.T) {
	withoutCluster(t)
	file := filepath.Join(t.TempDir(), "empty.wasm")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	if code := run([]string{"doctor", file}, &stdout, &strings.Builder{}); code != exitError || !strings.Contains(stdout.String(), "not a WebAssembly file: it is empty") {
		t.Errorf("exit code %d: %s", code, &stdout)
	}
}

func TestNewSaysWhatIsNext(t *testing.T) {
	t.Chdir(t.TempDir())
	var stdout strings.Builder
	if code := run([]string{"new", "greeter", "--lang", "python", "--template", "daemon"}, &stdout, &strings.Builder{}); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{filepath.Join("greeter", "handlers.py") + "\n", "Next:\n  cd greeter\n  make test\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in %s", want, &stdout)
		}
	}
}
