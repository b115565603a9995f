//go:build interop

package oci_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/porttest"
)

// TestInteropDebian: artifacts and signatures in the registry that Debian ships, with
// its files on disk.
func TestInteropDebian(t *testing.T) {
	b := newBench(t)
	program, err := filepath.Abs(filepath.Join(repository, ".cache", "debian-registry", "usr", "bin", "docker-registry"))
	if err != nil {
		t.Fatal(err)
	}
	host := porttest.Unused(t)
	config := b.file("registry.yml", fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n", t.TempDir(), host))
	cmd := exec.Command(program, "serve", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + host + "/v2/")
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	b.roundTrip("oci://" + host + "/some/operator:v1")
	for _, how := range []string{"--bundle=false", "--bundle=true"} {
		b.signatures("oci://"+host+"/team/operator"+how[len(how)-4:len(how)-3]+":v1", "ECDSA", how)
	}
	pushed := b.must("push", b.module(), "oci://"+host+"/certified:v1")
	b.attach(pushed, b.forge(digestOf(pushed), byMail, byAction.asTag())...)
	b.must("verify", pushed, "--sigstore-trust-config", "trust.json", "--github-owner", "me", "--cert-subject", byMail.Subject, "--cert-oidc-issuer", byMail.Issuer)
}
