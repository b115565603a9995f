package e2e_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/operator/scripts"
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

// TestScriptFromRegistry: a script is pushed with its engine as one module, which is
// signed, compared with what it declares, and runs where there is no engine.
func TestScriptFromRegistry(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	registry := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + registry.Host + "/operators/script:v1"
	dir := t.TempDir()
	done := func(args ...string) string {
		t.Helper()
		r := kopf(t, []string{"XDG_DATA_HOME=" + dir}, args...)
		if r.code != 0 {
			t.Fatalf("kopf %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
		}
		return strings.TrimSpace(r.stdout)
	}
	pushed := done("push", repository+"/examples/01-minimal/operator.js", ref, "--engine", engine(t))
	_, digest, _ := strings.Cut(pushed, "@")
	t.Cleanup(func() { kopf(t, nil, "rm", digest) })
	private, public := keyPair(t)
	done("sign", ref, "--key", private)
	shown := done("inspect", ref)
	for _, want := range []string{"application/wasm", "KOPF_SCRIPT_NAME=operator.js", "create_fn", "kopfexamples", "what it registers"} {
		if !strings.Contains(shown, want) {
			t.Errorf("inspect does not tell %s:\n%s", want, shown)
		}
	}

	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig(), "XDG_DATA_HOME=" + dir}, "run", "-n", s.namespace, ref, "-k", public)
	if got := fmt.Sprint(s.handled(t, s.objectOf(t)).Object["status"]); got != "map[create_fn:map[message:hello] seen:true]" {
		t.Errorf("the status is %s", got)
	}
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}

	done("pull", ref, "--output", dir+"/operator.wasm")
	wasm, err := os.ReadFile(dir + "/operator.wasm")
	if err != nil {
		t.Fatal(err)
	}
	other, err := configuration.Embed(wasm, map[string]string{scripts.KeyText: `kopf.on.create("secrets", () => {})`, scripts.KeyName: "operator.js"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/other.wasm", other, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := kopf(t, nil, "run", dir+"/other.wasm", "-n", s.namespace); r.code != 4 || !strings.Contains(r.stderr, "its registration differs") {
		t.Errorf("another script behind the same declaration: exit code %d\n%s", r.code, r.stderr)
	}
}

// keyPair writes a new pair of keys, and returns the names of its files.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		if err == nil {
			err = os.WriteFile(dir+"/"+name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	private = write("mine.key", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(pub)
	return private, write("mine.pub", "PUBLIC KEY", der, err)
}
