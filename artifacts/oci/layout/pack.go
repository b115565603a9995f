package layout

import (
	"encoding/json"
	"fmt"
	"time"
)

// OCI annotations that this project uses.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
const (
	AnnotationCreated = "org.opencontainers.image.created"
	AnnotationTitle   = "org.opencontainers.image.title"
	AnnotationVersion = "org.opencontainers.image.version"
	AnnotationAuthors = "org.opencontainers.image.authors"
)

// Packed is a module as an artifact, ready to be pushed or stored.
type Packed struct {
	Manifest, Config, Module []byte
}

// Pack packs a module, which other tools save as a file with the name. The artifact depends
// only on the module, the name and the annotations: equal inputs give equal bytes.
//
// Errors: ErrLayout if the input is not a module.
func Pack(module []byte, name string, annotations map[string]string) (*Packed, error) {
	if err := CheckModule(module); err != nil {
		return nil, err
	}
	layer := Describe(MediaModule, module)
	layer.Annotations = map[string]string{AnnotationTitle: name}
	config := Config{Author: annotations[AnnotationAuthors], Architecture: "wasm", OS: "wasip1", Created: time.Unix(0, 0).UTC(), LayerDigests: []string{layer.Digest}}
	if text := annotations[AnnotationCreated]; text != "" {
		created, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", AnnotationCreated, err)
		}
		config.Created = created.UTC()
	}
	p := &Packed{Module: module}
	var err error
	if p.Config, err = json.Marshal(config); err != nil {
		return nil, err
	}
	p.Manifest, err = json.Marshal(Manifest{
		SchemaVersion: 2, MediaType: MediaManifest, Config: Describe(MediaConfig, p.Config),
		Layers: []Descriptor{layer}, Annotations: annotations,
	})
	return p, err
}

// Attach returns the manifest of an attachment: a signature, an SBOM, a provenance. Its
// config is empty.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidelines-for-artifact-usage
func Attach(subject Descriptor, artifactType string, layers []Descriptor, annotations map[string]string) (manifest, config []byte, err error) {
	config = []byte("{}")
	manifest, err = json.Marshal(Manifest{
		SchemaVersion: 2, MediaType: MediaManifest, ArtifactType: artifactType, Config: Describe(MediaEmpty, config),
		Layers: layers, Subject: &Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}, Annotations: annotations,
	})
	return manifest, config, err
}
