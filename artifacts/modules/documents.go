package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// ErrUnknownDocument says that a document is neither an SBOM nor a provenance.
var ErrUnknownDocument = errors.New("neither an SBOM (SPDX or CycloneDX, in JSON) nor a statement of in-toto (provenance)")

// Attach attaches documents to an artifact: SBOMs and provenance, whose types Attach detects
// from their content.
func (f *Finder) Attach(ctx context.Context, r oci.Reference, subject layout.Descriptor, documents map[string][]byte) error {
	types := map[string]string{}
	for name, content := range documents {
		mediaType, err := typeOf(content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		types[name] = mediaType
	}
	for name, content := range documents {
		if err := f.Client.Attach(ctx, r, subject, types[name], content); err != nil {
			return err
		}
	}
	return nil
}

// typeOf detects the type of a document.
func typeOf(content []byte) (string, error) {
	var keys struct {
		SPDX      string `json:"spdxVersion"`
		CycloneDX string `json:"bomFormat"`
		InToto    string `json:"_type"`
		Payload   string `json:"payloadType"`
	}
	if err := json.Unmarshal(content, &keys); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnknownDocument, err)
	}
	switch {
	case keys.SPDX != "":
		return "application/spdx+json", nil
	case keys.CycloneDX == "CycloneDX":
		return "application/vnd.cyclonedx+json", nil
	case keys.InToto != "":
		return "application/vnd.in-toto+json", nil
	case keys.Payload == "application/vnd.in-toto+json":
		return "application/vnd.dsse.envelope.v1+json", nil
	}
	return "", ErrUnknownDocument
}
