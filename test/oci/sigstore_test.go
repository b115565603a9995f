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

// sigstore builds the program that looks at certificates, beside kopf, and the forge
// of its tests.
var sigstore = sync.OnceValues(func() (string, error) {
	dir, err := built()
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", ".", "./forge")
	build.Dir = repository + "/cmd/kopf-sigstore"
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	return dir, nil
})

// wish is a signature that the forge makes; see cmd/kopf-sigstore/forge.
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
	dir, err := sigstore()
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
	cmd := exec.Command(filepath.Join(dir, "forge"))
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

// attach puts signatures beside an artifact: all bundles as referrers, the others under cosign's tag.
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
			if _, err := client.Attach(b.t.Context(), r, m.Descriptor(), media, media, s.Bundle); err != nil {
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
