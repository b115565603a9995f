package oci_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// forge builds the command that makes certificates and signatures, and returns its path.
var forge = sync.OnceValues(func() (string, error) {
	dir, err := built()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "forge")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./forge")
	build.Dir = repository + "/artifacts/signatures/sigstore"
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	return path, nil
})

// wish is a signature that the forge makes; see artifacts/signatures/sigstore/forge.
type wish struct {
	Digest      string            `json:"digest"`
	Issuer      string            `json:"issuer"`
	Subject     string            `json:"subject"`
	Repository  string            `json:"repository"`
	Annotations map[string]string `json:"annotations"`
	Tagged      bool              `json:"tagged"`
	Expired     bool              `json:"expired"`
	Unlogged    bool              `json:"unlogged"`
}

// forged is one that it has made: a bundle, or a layer with its annotations.
type forged struct {
	Bundle      json.RawMessage
	Payload     []byte
	Annotations map[string]string
}

// forge makes signatures of an artifact, and writes the trusted root as trust.json.
func (b *bench) forge(digest string, wishes ...wish) []forged {
	b.t.Helper()
	program, err := forge()
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range wishes {
		if wishes[i].Digest == "" {
			wishes[i].Digest = digest
		}
	}
	input, err := json.Marshal(wishes)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		b.t.Fatal(err)
	}
	var made struct {
		Trust      json.RawMessage
		Signatures []forged
	}
	if err := json.Unmarshal(output, &made); err != nil {
		b.t.Fatal(err)
	}
	b.file("trust.json", string(made.Trust))
	return made.Signatures
}

// attach adds signatures to an artifact: bundles as referrers, the others under cosign's tag.
func (b *bench) attach(pushed string, signatures ...forged) {
	b.t.Helper()
	r, err := oci.Parse(pushed)
	if err != nil {
		b.t.Fatal(err)
	}
	client := oci.New(oci.Options{ConfigFile: b.file("none.json", "{}")})
	defer client.Close()
	m, err := client.Manifest(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	config := []byte("{}")
	tagged := layout.Manifest{SchemaVersion: 2, MediaType: layout.MediaManifest, Config: layout.Describe("application/vnd.oci.image.config.v1+json", config)}
	parts := map[string][]byte{tagged.Config.Digest: config}
	for _, s := range signatures {
		if s.Bundle != nil {
			const media = "application/vnd.dev.sigstore.bundle.v0.3+json"
			if err := client.Attach(b.t.Context(), r, m.Descriptor(), media, s.Bundle); err != nil {
				b.t.Fatal(err)
			}
			continue
		}
		layer := layout.Describe("application/vnd.dev.cosign.simplesigning.v1+json", s.Payload)
		layer.Annotations = s.Annotations
		tagged.Layers, parts[layer.Digest] = append(tagged.Layers, layer), s.Payload
	}
	if tagged.Layers == nil {
		return
	}
	raw, err := json.Marshal(tagged)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := client.Put(b.t.Context(), r.Tagged(oci.SignatureTag(r.Digest)), raw, parts); err != nil {
		b.t.Fatal(err)
	}
}

// digestOf is the digest of a reference.
func digestOf(pushed string) string {
	_, digest, _ := strings.Cut(pushed, "@")
	return digest
}
