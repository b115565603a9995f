//go:build interop

package oci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// cosignProgram is the real cosign; without it the test fails: it was asked for.
func (b *bench) cosignProgram() string {
	b.t.Helper()
	program, err := filepath.Abs(filepath.Join(repository, ".cache", "bin", "cosign-"+os.Getenv("COSIGN_VERSION")))
	if err != nil {
		b.t.Fatal(err)
	}
	return program
}

// cosign runs it.
func (b *bench) cosign(args ...string) string {
	b.t.Helper()
	r := b.run(b.cosignProgram(), args...)
	if r.code != 0 {
		b.t.Fatalf("cosign %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout + r.stderr
}

// Signatures of cosign verify here, and those made here verify with cosign, with
// keys, under the tag and as bundles; without a transparency log, which is not on this machine.
func TestInteropCosign(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "COSIGN_PASSWORD=secret")
	r := registrytest.Start(t, registrytest.Options{})
	b.cosign("generate-key-pair")
	b.file("root.json", `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`)
	for name, bundle := range map[string]bool{"tag": false, "bundle": true} {
		t.Run("cosign signs, "+name, func(t *testing.T) {
			pushed := b.must("push", b.module(), "oci://"+r.Host+"/cosign/"+name+":v1")
			args := []string{"sign", "--yes", "--key", "cosign.key", "--tlog-upload=false", "--allow-insecure-registry", "-a", "env=prod", strings.TrimPrefix(pushed, "oci://")}
			if bundle {
				args = append(args, "--new-bundle-format")
			}
			b.refused(3, []string{"it has no signatures"}, "verify", pushed, "-k", "cosign.pub")
			b.cosign(args...)
			b.must("verify", pushed, "-k", "cosign.pub")
		})
		t.Run("kopf signs, "+name, func(t *testing.T) {
			pushed := b.must("push", b.module(), "oci://"+r.Host+"/kopf/"+name+":v1")
			args := []string{"verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", "--allow-insecure-registry", strings.TrimPrefix(pushed, "oci://")}
			if bundle {
				b.must("sign", pushed, "--key", "cosign.key", "--bundle")
				args = append(args, "--new-bundle-format", "--trusted-root", "root.json")
			} else {
				b.must("sign", pushed, "--key", "cosign.key", "-a", "env=prod")
				args = append(args, "-a", "env=prod")
			}
			if said := b.cosign(args...); !strings.Contains(said, "signatures were verified against the specified public key") {
				t.Errorf("cosign says:\n%s", said)
			}
		})
	}
}

// Images for several architectures: cosign verifies what kopf signs, and the other way around, by the index and by the
// manifest of each architecture.
func TestInteropCosignOfImages(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "COSIGN_PASSWORD=secret")
	r := registrytest.Start(t, registrytest.Options{})
	b.cosign("generate-key-pair")
	ours := image(t, r.Host, "ours", "v1")
	b.must("sign", "oci://"+r.Host+"/ours:v1", "--key", "cosign.key", "--recursive")
	theirs := image(t, r.Host, "theirs", "v1")
	b.cosign("sign", "--yes", "--recursive", "--key", "cosign.key", "--tlog-upload=false", "--allow-insecure-registry", r.Host+"/theirs@"+theirs[0])
	for i := range ours {
		said := b.cosign("verify", "--key", "cosign.pub", "--insecure-ignore-tlog=true", "--allow-insecure-registry", r.Host+"/ours@"+ours[i])
		if !strings.Contains(said, "signatures were verified against the specified public key") {
			t.Errorf("cosign says:\n%s", said)
		}
		b.must("verify", "oci://"+r.Host+"/theirs@"+theirs[i], "-k", "cosign.pub")
	}
}

// skopeo copies our artifacts, and what it has copied runs.
func TestInteropSkopeo(t *testing.T) {
	b := newBench(t)
	skopeo, err := exec.LookPath("skopeo")
	if err != nil {
		t.Fatal(err)
	}
	r := registrytest.Start(t, registrytest.Options{})
	pushed := b.must("push", b.module(), "oci://"+r.Host+"/from:v1")
	b.file("policy.json", `{"default":[{"type":"insecureAcceptAnything"}]}`)
	copied := b.run(skopeo, "--policy", "policy.json", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", "docker://"+r.Host+"/from:v1", "docker://"+r.Host+"/to:v1")
	if copied.code != 0 {
		t.Fatalf("skopeo: %s", copied.stderr)
	}
	_, digest, _ := strings.Cut(pushed, "@")
	if pulled := b.must("pull", "oci://"+r.Host+"/to:v1"); !strings.HasSuffix(pulled, digest) {
		t.Errorf("pulled %s, want %s", pulled, digest)
	}
	b.must("save", "oci://"+r.Host+"/from:v1", "-o", "operators.tar")
	read := b.run(skopeo, "--policy", "policy.json", "copy", "--dest-tls-verify=false", "oci-archive:operators.tar", "docker://"+r.Host+"/archive:v1")
	if read.code != 0 {
		t.Fatalf("skopeo: %s", read.stderr)
	}
	if pulled := b.must("pull", "oci://"+r.Host+"/archive:v1"); !strings.HasSuffix(pulled, digest) {
		t.Errorf("pulled %s, want %s", pulled, digest)
	}
}

// What the forge of these tests makes is what the real cosign takes for signatures with
// certificates, and refuses for the same reasons: expired, of another subject, not of this Sigstore.
func TestInteropCertificates(t *testing.T) {
	expired := byMail
	expired.Expired = true
	for how, wanted := range map[string]func(w wish) wish{"bundle": func(w wish) wish { return w }, "tag": wish.asTag} {
		for name, tt := range map[string]struct {
			wish wish
			good bool
		}{"good": {byMail, true}, "expired": {expired, false}, "other": {byAction, false}} {
			t.Run(name+" "+how, func(t *testing.T) {
				b := newBench(t)
				r := registrytest.Start(t, registrytest.Options{Referrers: true})
				pushed := b.must("push", b.module(), "oci://"+r.Host+"/operator:v1")
				b.attach(pushed, b.forge(digestOf(pushed), wanted(tt.wish))...)
				args := []string{"verify", "--trusted-root", "trust.json", "--allow-insecure-registry", "--certificate-identity", byMail.Subject, "--certificate-oidc-issuer", byMail.Issuer, strings.TrimPrefix(pushed, "oci://")}
				if how == "bundle" {
					args = append(args, "--new-bundle-format")
				}
				theirs := b.run(b.cosignProgram(), args...)
				ours := b.kopf("verify", pushed, "--sigstore-trust-config", "trust.json", "--cert-subject", byMail.Subject, "--cert-oidc-issuer", byMail.Issuer)
				if (theirs.code == 0) != tt.good || (ours.code == 0) != tt.good {
					t.Errorf("exit codes %d and %d\n%s\n%s", theirs.code, ours.code, theirs.stderr, ours.stderr)
				}
			})
		}
	}
}
