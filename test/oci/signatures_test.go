package oci_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// key writes a new key as NAME.key and NAME.pub.
func (b *bench) key(name, kind string) {
	b.t.Helper()
	var signer crypto.Signer
	var err error
	switch kind {
	case "ECDSA":
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "RSA":
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	case "Ed25519":
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		b.t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		b.t.Fatal(err)
	}
	b.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	b.file(name+".pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
}

// Artifacts are signed with keys of all kinds, under cosign's tag and as bundles,
// in registries with and without referrers; artifacts with other signatures or none are refused.
func TestSignatures(t *testing.T) {
	for _, referrers := range []bool{false, true} {
		for _, kind := range []string{"ECDSA", "RSA", "Ed25519"} {
			for _, bundle := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s bundle=%v referrers=%v", kind, bundle, referrers), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
					b.signatures("oci://"+r.Host+"/team/operator:v1", kind, fmt.Sprintf("--bundle=%v", bundle))
				})
			}
		}
	}
}

func (b *bench) signatures(ref, kind, how string) {
	b.key("mine", kind)
	b.key("theirs", "ECDSA")
	pushed := b.must("push", b.module(), ref)
	b.refused(3, []string{pushed, "it has no signatures"}, "verify", ref, "-k", "mine.pub")
	if signed := b.must("sign", ref, "--key", "mine.key", how, "-a", "env=prod"); signed != pushed {
		b.t.Errorf("signed %q, want %q", signed, pushed)
	}
	b.must("sign", ref, "--key", "theirs.key", how)
	if verified := b.must("verify", ref, "-k", "mine.pub", "--verification-annotation", "env=prod"); verified != pushed {
		b.t.Errorf("verified %q, want %q", verified, pushed)
	}
	b.must("verify", ref, "-k", "mine.pub", "-k", "theirs.pub")
	b.refused(3, []string{pushed, "env=test"}, "verify", ref, "-k", "mine.pub", "--verification-annotation", "env=test")
	b.key("other", kind)
	b.refused(3, []string{pushed, "no signature by key "}, "verify", ref, "-k", "mine.pub", "-k", "other.pub")

	// Another artifact under the same tag is another thing to sign.
	next := b.must("push", b.module(), ref, "-a", "version=2")
	b.refused(3, []string{next, "it has no signatures"}, "verify", ref, "-k", "mine.pub")
	_, digest, _ := strings.Cut(pushed, "@")
	b.must("verify", strings.TrimSuffix(ref, ":v1")+"@"+digest, "-k", "mine.pub")
}

// What runs is what is signed as demanded, by flags, by a file, or by a variable.
func TestRunVerified(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	b.key("mine", "ECDSA")
	b.key("other", "ECDSA")
	pushed := b.must("push", b.module(), ref)
	b.must("sign", ref, "--key", "mine.key")
	const cluster = "no configuration of a cluster" // it came as far as the cluster

	b.refused(3, []string{pushed, "not verified"}, "run", ref, "-n", "default", "-k", "other.pub")
	b.refused(1, []string{cluster}, "run", ref, "-n", "default", "-k", "mine.pub")
	b.refused(3, []string{pushed, "not verified"}, "run", ref, "-n", "default", "-k", "other.pub", "--follow")
	b.refused(1, []string{cluster}, "run", ref, "-n", "default", "-k", "mine.pub", "--follow")
	b.refused(3, []string{"a file cannot be verified"}, "run", b.module(), "-n", "default", "-k", "mine.pub")
	b.refused(1, []string{"verification.yml"}, "run", ref, "-n", "default", "--verify")

	key := func(name string) string { return strings.ReplaceAll(b.read(name+".pub"), "\n", "\n      ") }
	demand := func(name string) string {
		return "apiVersion: v1\nallOf:\n  - kind: pubKey\n    key: |\n      " + key(name)
	}
	b.file("config/kopf/verification.yml", demand("other"))
	b.refused(1, []string{cluster}, "run", ref, "-n", "default")
	b.refused(3, []string{pushed}, "run", ref, "-n", "default", "--verify")
	b.env = append(b.env, "KOPF_RUN_VERIFY=true")
	b.refused(3, []string{pushed}, "run", ref, "-n", "default")
	b.file("config/kopf/verification.yml", demand("mine"))
	b.refused(1, []string{cluster}, "run", ref, "-n", "default")
	b.file("bad.yml", "apiVersion: v1\nallOf: [{kind: pubKey}]")
	b.refused(1, []string{"bad.yml", "pubKey needs key"}, "run", ref, "-n", "default", "--verification-config-path", "bad.yml")

	b.refused(2, []string{"--key"}, "sign", ref)
	b.refused(1, []string{"mine.pub", "PRIVATE KEY"}, "sign", ref, "--key", "mine.pub")
	b.refused(2, []string{"not both"}, "verify", ref, "-k", "mine.pub", "--verification-config-path", "bad.yml")
}
