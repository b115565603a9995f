package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestDryRunsOfServe: a dry run refuses what the host would refuse, each declaration with its name and its fields, and a host without
// usable signers does not start.
func TestDryRunsOfServe(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const good = "apiVersion: hosting.kopf.dev/v1alpha1\nkind: WasmOperator\nmetadata: {name: good, namespace: b}\nspec: {module: op.wasm, serviceAccountName: c, limits: {MaxMemory: 64Mi}}\n---\n"
	const bad = "apiVersion: hosting.kopf.dev/v1alpha1\nkind: WasmOperator\nmetadata: {name: bad, namespace: b}\nspec: {module: op.wasm, serviceAccountName: c, limits: {MaxMemory: 2Gi}, settings: {no.such: 1}, grants: {hosts: [example.com, 127.0.0.1]}, verification: {keys: [x]}}"
	const key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQrFQVzynTMeg4lUi6hRdwFPm9IjQ\nWi+yvnd64xMp4wmkeiDZKJ49+sFHI5AFLpIi4rwE9+IuWM0G+ENdOCoNYA==\n-----END PUBLIC KEY-----\n"
	for name, content := range map[string]string{"good.yaml": good, "both.yaml": good + bad, "key.pub": key} {
		dir := strings.TrimSuffix(name, ".yaml")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{name: content, "op.wasm": ""} {
			if err := os.WriteFile(dir+"/"+name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	const unconfigured = "the required signatures are not configured"
	const file = "op.wasm: a file cannot be verified, only an artifact (oci://…)"
	tests := []struct {
		line string
		code exitCode
		says []string
	}{
		{"serve good --dry-run", exitOK, nil},
		{"serve both --dry-run", exitSigned, []string{"WasmOperator b/bad: spec.limits: limit MaxMemory: 2Gi is above the maximum 256Mi of the host", `spec.settings: unknown setting "no.such"`, `spec.grants.hosts[1]: the server "127.0.0.1": hosted operators reach servers by name`, file}},
		{"serve good --dry-run --limit MaxMemory=1Mi", exitError, []string{"WasmOperator b/good: spec.limits: limit MaxMemory: 64Mi is above the maximum 1Mi of the host"}},
		{"serve good --dry-run -k key.pub/key.pub", exitSigned, []string{"WasmOperator b/good: " + file}},
		{"serve good --dry-run -k missing", exitError, []string{"open missing: no such file"}},
		{"serve good --dry-run --verify", exitError, []string{unconfigured}},
		{"serve good --verify", exitError, []string{unconfigured}},
		{"serve --verify", exitError, []string{unconfigured}},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(tt.line), &stdout, &stderr); code != tt.code {
			t.Errorf("kopf %s: exit code %d, want %d", tt.line, code, tt.code)
		}
		for _, text := range tt.says {
			if !strings.Contains(stderr.String(), text) {
				t.Errorf("kopf %s: want %q in\n%s", tt.line, text, &stderr)
			}
		}
	}
}
