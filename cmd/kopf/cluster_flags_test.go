package main

import (
	"context"
	"io"
	"testing"

	"github.com/kopf-wasm/kopf/operator"
)

// TestContextsOfHostsAndAnnouncements: kopf serve, freeze and resume use the cluster that the flags name, as all commands do.
func TestContextsOfHostsAndAnnouncements(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "")
	writeFiles(t, map[string]string{"two": `{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: "https://a:1"}}, {name: b, cluster: {server: "https://b:1"}}], users: [{name: u, user: {token: secret}}],
contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u, namespace: team}}]}`})
	o := &serveOptions{clusterOptions: clusterOptions{kubeconfig: "two", context: "b"}}
	if config, namespace, err := o.ownConfig(t.Context()); err != nil || config.Host != "https://b:1" || namespace != "team" {
		t.Errorf("serve: %v, %q, %v", config, namespace, err)
	}
	for server, context := range map[string]string{"https://a:1": "a", "https://b:1": "b"} {
		var announced operator.Announcement
		cmd := newFreezeCmd(io.Discard, keep(&announced))
		cmd.SetArgs([]string{"-A", "-P", "x", "-t", "5", "--kubeconfig", "two", "--context", context})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		info, err := announced.Logins[0].Get(t.Context())
		if len(announced.Logins) != 1 || err != nil || info.Config.Host != server {
			t.Errorf("freeze: %d logins, %+v, %v", len(announced.Logins), info, err)
		}
	}
}

// keep keeps what is announced, instead of announcing it.
func keep(to *operator.Announcement) announce {
	return func(_ context.Context, a operator.Announcement) error {
		*to = a
		return nil
	}
}
