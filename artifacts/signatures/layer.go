package signatures

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// imageConfig holds the minimum that readers of images require.
type imageConfig struct {
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	Created      string   `json:"created"`
	Config       struct{} `json:"config"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// addLayer adds a layer to the manifest of a tag, or creates a manifest with it.
func addLayer(ctx context.Context, c *oci.Client, at oci.Reference, layer layout.Descriptor, content []byte, key *PrivateKey) error {
	m, _, err := c.Attached(ctx, at)
	if errors.Is(err, oci.ErrNotFound) {
		m, err = &layout.Manifest{SchemaVersion: 2, MediaType: layout.MediaManifest}, nil
	}
	if err != nil {
		return err
	}
	if err := addTo(m, layer, content, key); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	config := imageConfig{Created: "1970-01-01T00:00:00Z"}
	config.RootFS.Type = "layers"
	for _, l := range m.Layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.Digest)
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return err
	}
	m.Config = layout.Describe(mediaImageConfig, encoded)
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.Put(ctx, at, raw, map[string][]byte{m.Config.Digest: encoded, layer.Digest: content})
}

// addTo adds a layer to a manifest, unless the same key has signed the content before.
func addTo(m *layout.Manifest, layer layout.Descriptor, content []byte, key *PrivateKey) error {
	same := func(d layout.Descriptor) bool {
		raw, err := base64.StdEncoding.DecodeString(d.Annotations[annotationSignature])
		return err == nil && d.Digest == layer.Digest && key.Public().Verifies(content, raw)
	}
	switch {
	case slices.ContainsFunc(m.Layers, same):
		return nil
	case len(m.Layers) >= maxSignatures:
		return fmt.Errorf("there are %d signatures already, and verification reads no more than that: remove the tag, and sign again", len(m.Layers))
	}
	m.Layers = append(m.Layers, layer)
	return nil
}
