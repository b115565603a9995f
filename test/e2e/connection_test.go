package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// kubeconfig writes one.
func kubeconfig(t *testing.T, text string) (env []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"KUBECONFIG=" + path}
}

func TestBrokenKubeconfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"not YAML", "{apiVersion: v1, kind: [", []string{"kubeconfig", "yaml"}},
		{"not a kubeconfig", "{apiVersion: v1, kind: Pod}", []string{"kubeconfig"}},
		{"empty", "", []string{"no configuration of a cluster"}},
	}
	module := guest(t, "scripted")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := kopf(t, kubeconfig(t, test.text), "run", "-A", module)
			refused(t, got, 1, append(test.want, "login")...)
		})
	}
}

// TestNoCluster: an operator tries to reach its cluster for some time, then ends.
func TestNoCluster(t *testing.T) {
	t.Parallel()
	address := porttest.Unused(t)
	env := kubeconfig(t, `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: c, cluster: {server: "https://`+address+`"}}], users: [{name: u, user: {token: t}}],
  contexts: [{name: x, context: {cluster: c, user: u}}]}`)
	got := kopf(t, env, "run", "-A", "--config", `settings={"networking.error_backoffs":[0.1,0.2]}`, guest(t, "scripted"))
	refused(t, got, 1, address, "connection refused")
	for _, want := range []string{"Request attempt #1/3 failed; will retry", "Request attempt #2/3 failed; will retry", "Request attempt #3/3 failed; escalating"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, got.stderr)
		}
	}
}

// TestRefusedCredentials: nothing is gained by trying the same ones again.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	config, err := clientcmd.LoadFromFile(s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "unknown"}
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	got := kopf(t, kubeconfig(t, string(text)), "run", "-n", s.namespace, guest(t, "scripted"))
	refused(t, got, 1, "ran out of valid credentials: Unauthorized")
}

// TestClusterAppearsLater: what is not reachable yet is worth another attempt.
func TestClusterAppearsLater(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	server := s.RESTConfig()
	gate := newGate(t, server.Host)
	behind := rest.CopyConfig(server)
	behind.Host = gate.url()
	behind.TLSClientConfig.ServerName = "127.0.0.1"
	op, ready := s.launch(t, options{rest: behind, settings: func(s *settings.Settings) {
		s.Networking.ErrorBackoffs = repeated(100*time.Millisecond, 100)
	}})
	op.until(t, "an attempt has failed", func() bool { return len(op.log.With("will retry")) > 0 })
	gate.open(t)
	select {
	case <-ready:
	case <-op.ended:
		t.Fatalf("the operator has given up: %v", op.err)
	}
	s.create(t, "obj1", "{}")
	s.handled(t, "obj1")
	op.stop(t)
}

// TestResourceAppearsLater: a resource that does not exist is warned about, and
// served when it is defined.
func TestResourceAppearsLater(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{config: map[string]string{"resource": "latecomers.e2e.kopf.dev"}})
	op.until(t, "there is a warning", func() bool {
		return len(op.log.With(`"severity":"warn"`, "Unresolved resources cannot be served (try creating their CRDs)", "latecomers")) == 1
	})
	s.ApplyIn(t, s.namespace, definition("Latecomer", "latecomers", "{type: object, x-kubernetes-preserve-unknown-fields: true}")+`
---
{apiVersion: e2e.kopf.dev/v1, kind: Latecomer, metadata: {name: obj1}, spec: {field: one}}`)
	op.called(t, "obj1", 1)
	if warnings := op.log.With("Unresolved resources"); len(warnings) != 1 {
		t.Errorf("the warning is repeated: %q", warnings)
	}
}

// definition is a resource definition of the group e2e.kopf.dev.
func definition(kind, plural, schema string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.e2e.kopf.dev}
spec:
  group: e2e.kopf.dev
  scope: Namespaced
  names: {kind: ` + kind + `, plural: ` + plural + `}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` + schema + `}}`
}
