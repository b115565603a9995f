package signatures

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// payload is the content that cosign signs: a digest, and annotations.
//
// See https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
type payload struct {
	Critical struct {
		Identity struct {
			DockerReference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

const payloadType = "cosign container image signature"

// newPayload returns the content to sign for an artifact.
func newPayload(repository, digest string, annotations map[string]string) ([]byte, error) {
	var p payload
	p.Critical.Identity.DockerReference = repository
	p.Critical.Image.Digest = digest
	p.Critical.Type = payloadType
	for key, value := range annotations {
		if p.Optional == nil {
			p.Optional = map[string]any{}
		}
		p.Optional[key] = value
	}
	return json.Marshal(p)
}

// readPayload checks that a payload contains the digest, and returns its annotations.
func readPayload(raw []byte, digest string) (map[string]string, error) {
	var p payload
	if err := unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("its payload cannot be read: %w", err)
	}
	switch {
	case p.Critical.Type != payloadType && p.Critical.Type != "atomic container signature":
		return nil, fmt.Errorf("its payload is of the type %q", p.Critical.Type)
	case p.Critical.Image.Digest != digest:
		return nil, errors.New("it signs another artifact: " + p.Critical.Image.Digest)
	}
	return texts(p.Optional), nil
}

// texts keeps the annotations whose values are strings.
func texts(values map[string]any) map[string]string {
	found := map[string]string{}
	for key, value := range values {
		if text, ok := value.(string); ok {
			found[key] = text
		}
	}
	return found
}

// maxValues bounds the values in signed content and in bundles.
const maxValues = 10_000

// unmarshal decodes JSON from an untrusted source.
func unmarshal(raw []byte, into any) error {
	if err := bounded.JSON(raw, maxValues); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
