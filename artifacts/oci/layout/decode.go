package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// indexTypes are the media types of manifest lists for several platforms. Modules do not
// have platforms.
var indexTypes = []string{"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}

// ManifestTypes are the media types that a registry is asked for: the accepted one, and
// others, so that errors can name them.
var ManifestTypes = append([]string{MediaManifest, "application/vnd.docker.distribution.manifest.v2+json"}, indexTypes...)

// maxValues bounds the values in a manifest, a config or an index, annotations included.
const maxValues = 100_000

// CheckValues refuses JSON of a registry or an archive with too many values, or nested too deeply.
//
// Errors: ErrLayout.
func CheckValues(content []byte) error {
	if err := bounded.JSON(content, maxValues); err != nil {
		return fmt.Errorf("%w: %w", ErrLayout, err)
	}
	return nil
}

// ValuesReader reads from another reader, and fails when CheckValues would refuse the
// content. Use it for JSON that a library decodes.
//
// Errors: ErrLayout, in addition to those of the other reader.
func ValuesReader(from io.Reader) io.Reader { return valuesReader{bounded.Reader(from, maxValues)} }

type valuesReader struct{ from io.Reader }

func (r valuesReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if errors.Is(err, bounded.ErrTooMuch) {
		err = fmt.Errorf("%w: %w", ErrLayout, err)
	}
	return n, err
}

// ReadManifest decodes the manifest of a module or of an attachment.
//
// Errors: ErrLayout.
func ReadManifest(mediaType string, content []byte) (*Manifest, error) {
	if err := CheckValues(content); err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(content, m); err != nil {
		return nil, fmt.Errorf("%w: its manifest is not JSON: %w", ErrLayout, err)
	}
	if m.MediaType != "" && mediaType != "" && m.MediaType != mediaType {
		return nil, fmt.Errorf("%w: its manifest says it is %s, the registry says %s", ErrLayout, m.MediaType, mediaType)
	}
	if mediaType == "" {
		mediaType = m.MediaType
	}
	switch {
	case slices.Contains(indexTypes, mediaType):
		return nil, fmt.Errorf("%w: it is an index of several manifests (%s), not a manifest", ErrLayout, mediaType)
	case mediaType != MediaManifest:
		return nil, fmt.Errorf("%w: its manifest is of the type %q", ErrLayout, mediaType)
	}
	return m, nil
}

// Module returns the layer with the module. The manifest must have exactly one layer, of at
// most limit bytes.
//
// Errors: ErrLayout.
func (m *Manifest) Module(limit int64) (Descriptor, error) {
	if len(m.Layers) != 1 {
		return Descriptor{}, fmt.Errorf("%w: it has %d layers, not one", ErrLayout, len(m.Layers))
	}
	layer := m.Layers[0]
	switch {
	case !slices.Contains(moduleTypes, layer.MediaType):
		return Descriptor{}, fmt.Errorf("%w: its layer is of the type %q, not %s (config: %q)", ErrLayout, layer.MediaType, MediaModule, m.Config.MediaType)
	case !ValidDigest(layer.Digest) || !ValidDigest(m.Config.Digest):
		return Descriptor{}, fmt.Errorf("%w: its manifest has a digest that is not of sha256", ErrLayout)
	case layer.Size < 8:
		return Descriptor{}, fmt.Errorf("%w: its layer is announced with %d bytes", ErrLayout, layer.Size)
	case layer.Size > limit:
		return Descriptor{}, fmt.Errorf("%w: its layer is announced with %d bytes, and the limit is %d", ErrLayout, layer.Size, limit)
	case m.Config.Size < 0 || m.Config.Size > MaxConfig:
		return Descriptor{}, fmt.Errorf("%w: its config is announced with %d bytes, and the limit is %d", ErrLayout, m.Config.Size, MaxConfig)
	}
	return layer, nil
}

// CheckConfig compares the layer with the config. Configs of other tools are empty, and are
// accepted.
//
// Errors: ErrLayout.
func (m *Manifest) CheckConfig(content []byte) error {
	var config struct {
		LayerDigests []string `json:"layerDigests"`
	}
	err := CheckValues(content)
	if err == nil {
		err = json.Unmarshal(content, &config)
	}
	if err != nil {
		if m.Config.MediaType != MediaConfig {
			return nil //nolint:nilerr // a config of another tool
		}
		return fmt.Errorf("%w: its config cannot be read: %w", ErrLayout, err)
	}
	switch {
	case len(config.LayerDigests) == 0 && m.Config.MediaType != MediaConfig:
		return nil
	case len(config.LayerDigests) != 1:
		return fmt.Errorf("%w: its config lists the digests of %d layers instead of one", ErrLayout, len(config.LayerDigests))
	case config.LayerDigests[0] != m.Layers[0].Digest:
		return fmt.Errorf("%w: its config says that the layer is %s, its manifest %s", ErrLayout, config.LayerDigests[0], m.Layers[0].Digest)
	}
	return nil
}
