package hostile_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// signedTag declares an operator whose module must be signed, by a tag that names a signed and an unsigned
// module in turn: between the verification and the fetch, too. Only the signed one ever runs. Then the tag
// moves to the unsigned one for good, and the declaration changes.
func signedTag(t *testing.T, a *attacker) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	script := func(version string) []byte {
		return a.script(t, on(fmt.Sprintf(`k.logger.warning("RUNS %s"); return "%[1]s";`, version)))
	}
	signed, unsigned := a.pack(t, a.tag()+"-signed", script("signed")), a.pack(t, a.tag()+"-unsigned", script("unsigned"))
	a.sign(t, key, signed)
	a.gates.move(a.tag(), signed, unsigned, unsigned, signed, unsigned)
	keys, err := json.Marshal([]string{publicKey(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, fmt.Sprintf(", verification: {keys: %s}", keys))
	a.create(t, "obj-0", "")
	if result := a.handled(t, "obj-0"); result != "signed" {
		t.Errorf("the module that runs is %v", result)
	}
	a.gates.move(a.tag(), unsigned)
	a.patch(t, `{"metadata":{"annotations":{"hosting.kopf.dev/retry":"now"}}}`)
	a.patch(t, `{"spec":{"settings":{"posting.level":10}}}`)
}

// stillSigned checks that the module which was verified continues.
func stillSigned(t *testing.T, a *attacker) {
	t.Helper()
	a.create(t, "later", "")
	if result := a.handled(t, "later"); result != "signed" {
		t.Errorf("the module that runs is %v", result)
	}
	if err := says("RUNS unsigned")(a); err == nil {
		t.Error("the unsigned module has run")
	}
}

// sign adds a signature of a manifest to the registry, as cosign does.
func (h *house) sign(t *testing.T, key *ecdsa.PrivateKey, digest string) {
	t.Helper()
	payload := fmt.Sprintf(`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, h.registry.Ref("x").Repository, digest)
	sum := sha256.Sum256([]byte(payload))
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	layer := h.registry.Put("application/vnd.dev.cosign.simplesigning.v1+json", []byte(payload))
	layer.Annotations = map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
	config := h.registry.Put("application/vnd.oci.image.config.v1+json", []byte("{}"))
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": layout.MediaManifest, "config": config, "layers": []any{layer}})
	if err != nil {
		t.Fatal(err)
	}
	h.registry.Tag(oci.SignatureTag(digest), layout.MediaManifest, manifest)
}

func publicKey(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signedTags is the attack by this tag.
var signedTags = attack{name: "a tag that moves under verification", quick: true, act: signedTag, named: []sign{condition(api.Verified, "Unsigned", "")}, also: stillSigned}
