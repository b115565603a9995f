package operator

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is missing in a kubeconfig is named, with the file, before anything is asked with it.
func TestBadKubeconfigs(t *testing.T) {
	const (
		head    = "{apiVersion: v1, kind: Config, current-context: x, "
		cluster = `clusters: [{name: c, cluster: {server: "https://c.invalid", insecure-skip-tls-verify: true}}], `
		context = "contexts: [{name: x, context: {cluster: c, user: u}}], "
	)
	plugin := func(text string) string {
		return head + cluster + context + "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, " + text + "}}}]}"
	}
	tests := []struct{ name, text, want string }{
		{"nothing", "", `config: the file is missing or has no configuration of a cluster`},
		{"no context is chosen", "{" + cluster + context + "users: [{name: u, user: {token: t}}]}", `config: no current-context is set`},
		{"no such context", head + cluster + "users: [{name: u, user: {token: t}}]}", `config: the current-context "x" is not among its contexts`},
		{"no such cluster", head + context + "users: [{name: u, user: {token: t}}]}", `config: the context "x" refers to the cluster "c", which does not exist`},
		{"no such user", head + cluster + context + "}", `config: the context "x" refers to the user "u", which does not exist`},
		{"twice the same context", head + "contexts: [{name: x}, {name: x}]}", `duplicate name "x"`},
		{"a text", "hello", `/config": couldn't get version/kind; json parse error: json: cannot unmarshal string`},
		{"a number for clusters", "{apiVersion: v1, kind: Config, clusters: 5}", `/config": json: cannot unmarshal number`},
		{"no plugin", plugin("interactiveMode: Never, command: no-such-plugin"), `the credential plugin: exec: "no-such-plugin": executable file not found in $PATH`},
		{"no plugin, but a hint", plugin("interactiveMode: Never, command: no-such-plugin, installHint: ask Joe"), "not found in $PATH: ask Joe"},
		{"a plugin that talks", plugin("interactiveMode: Always, command: sh"), `the credential plugin "sh" needs a terminal`},
		{"a provider", head + cluster + context + "users: [{name: u, user: {auth-provider: {name: gcp}}}]}", `the auth-provider "gcp" has no access-token`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", filepath.Join(filesIn(t, map[string]string{"config": tt.text}), "config"))
			if _, err := Kubeconfig(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "no credentials: ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// What a provider has left is used, as in the reference.
func TestTokensOfProviders(t *testing.T) {
	server, authority := newSecured(t)
	dir := filesIn(t, map[string]string{"ca.pem": authority, "config": `{apiVersion: v1, kind: Config, current-context: x,
  contexts: [{name: x, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "` + server.URL + `", certificate-authority: ca.pem}}],
  users: [{name: u, user: {auth-provider: {name: gcp, config: {access-token: left}}}}]}`})
	conn, err := KubeconfigAt(filepath.Join(dir, "config"))(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asked(t, conn.Config); err != nil || got != "Bearer left||" {
		t.Errorf("asked with %q, %v", got, err)
	}
}
