package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// TestRunFromRegistry: an operator that was pushed runs by its tag, and by its
// digest without the registry.
func TestRunFromRegistry(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	registry := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + registry.Host + "/operators/scripted"
	pushed := kopf(t, nil, "push", guest(t, "scripted"), ref+":v1")
	if pushed.code != 0 {
		t.Fatal(pushed.stderr)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(pushed.stdout), "@")
	t.Cleanup(func() { kopf(t, nil, "rm", digest) })
	for _, name := range []string{ref + ":v1", ref + "@" + digest} {
		p := s.spawnModule(t, name)
		p.says(t, "Running "+name)
		p.says(t, digest)
		object := "by-" + strings.TrimLeft(name[len(ref):len(ref)+3], ":@")
		p.create(t, object, "{}")
		p.handled(t, object)
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}
