package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// signingKey writes a key, and returns the files with both of its parts.
func signingKey(t *testing.T) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	open, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	private, public = filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "pub")
	for path, block := range map[string]*pem.Block{private: {Type: "PRIVATE KEY", Bytes: secret}, public: {Type: "PUBLIC KEY", Bytes: open}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

// published is a tag of a registry.
type published struct {
	ref, key string
}

// push puts a version under the tag, signed or not, and returns its digest.
func (p published) push(t *testing.T, module string, signed bool) string {
	t.Helper()
	pushed := kopf(t, nil, "push", module, p.ref)
	if pushed.code != 0 {
		t.Fatal(pushed.stderr)
	}
	if signed {
		p.sign(t)
	}
	_, digest, _ := strings.Cut(strings.TrimSpace(pushed.stdout), "@")
	t.Cleanup(func() { kopf(t, nil, "rm", digest) })
	return digest
}

func (p published) sign(t *testing.T) {
	t.Helper()
	if signed := kopf(t, nil, "sign", p.ref, "--key", p.key); signed.code != 0 {
		t.Fatal(signed.stderr)
	}
}

// TestFollow: an operator follows its tag while objects come in. None of them is lost or
// handled twice. What is not signed, or wants more rights, is held back; without the
// registry it continues.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	registry := registrytest.Start(t, registrytest.Options{})
	private, public := signingKey(t)
	tag := published{"oci://" + registry.Host + "/operators/versions:v1", private}
	tag.push(t, version(t), true)
	second := version(t, "version=2")
	p := s.spawnModule(t, tag.ref, "--follow=1s", "-k", public, "--allow-wanted")
	s.create(t, "before", "{field: one}")
	s.handled(t, "before")

	const many = 300
	digest := ""
	for i := range many { // one by one, so that some are handled by each version
		if i == 20 {
			digest = tag.push(t, second, true)
		}
		s.create(t, fmt.Sprintf("obj-%d", i), "{field: one}")
	}
	p.says(t, "Running "+tag.ref+"@"+digest)
	s.create(t, "after", "{field: one}")
	s.patch(t, "before", `{"spec":{"field":"two"}}`)
	s.manyHandled(t, "obj", 0, many)
	s.handled(t, "after")
	said := func(version, handler, name string) int {
		return len(p.stdout.With(`"handler":"`+handler+`"`, `"name":"`+name+`"`, `"version":"`+version))
	}
	p.until(t, "the new version handles a change", func() bool { return said("2", "update", "before") == 1 })
	p.until(t, "it says what it has handled", func() bool { return len(p.stdout.With(`"handler":"create"`, `"name":"obj-`)) >= many })
	for i := range many {
		name := fmt.Sprintf("obj-%d", i)
		if n := said("", "create", name); n != 1 {
			t.Errorf("%s was handled %d times", name, n)
		}
	}
	p.until(t, "the new version handles a creation", func() bool { return said("2", "create", "after") == 1 })
	if first, later := said("1", "create", "obj-0"), said("2", "create", "after"); first != 1 || later != 1 {
		t.Errorf("version 1 handled the first one %d times, version 2 the last one %d times", first, later)
	}

	tag.push(t, version(t, "version=3", "handlers=create,update,pods"), true) // which --allow-wanted would grant
	p.says(t, "it wants more rights than the running version: restart the operator to accept them: list of pods")
	tag.push(t, version(t, "version=4"), false)
	p.says(t, "not verified: it has no signatures")
	s.create(t, "held", "{field: one}")
	s.handled(t, "held")
	p.until(t, "the version before continues", func() bool { return said("2", "create", "held") == 1 })
	tag.sign(t)
	p.until(t, "it is taken when it is signed", func() bool { return len(p.stderr.With("is replaced by sha256:")) == 2 })

	registry.Stop()
	p.says(t, "Checking for a new version failed")
	s.create(t, "alone", "{field: one}")
	s.handled(t, "alone")
	p.until(t, "the version continues without the registry", func() bool { return said("4", "create", "alone") == 1 })
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
