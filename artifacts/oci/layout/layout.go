// Package layout defines how a module is packed as an OCI artifact: a manifest, a config and
// one layer, which is the module. It is pure: bytes in, bytes out.
//
// See https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/
package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Media types of pushed artifacts.
const (
	MediaManifest = "application/vnd.oci.image.manifest.v1+json"
	MediaConfig   = "application/vnd.wasm.config.v0+json"
	MediaModule   = "application/wasm"
	MediaEmpty    = "application/vnd.oci.empty.v1+json"
)

// moduleTypes are the accepted media types of a layer: the current one, and older ones of
// Kubewarden and wasmCloud.
var moduleTypes = []string{
	MediaModule,
	"application/vnd.wasm.content.layer.v1+wasm",
	"application/vnd.module.wasm.content.layer.v1+wasm",
}

// Limits of artifacts.
const (
	MaxManifest = 4 << 20 // bytes, the limit of registries
	MaxConfig   = 1 << 20
)

// ErrLayout says that an artifact does not hold a module, or differs from its description.
var ErrLayout = errors.New("not an operator")

// Descriptor identifies content by its digest.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/descriptor.md
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Data         []byte            `json:"data,omitempty"`
}

// Manifest is the image manifest of an artifact.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Config is the configuration of an artifact with a core module.
type Config struct {
	// Created is required by some readers. Without an annotation, it is the beginning of
	// 1970, so that equal modules give equal artifacts.
	Created      time.Time `json:"created"`
	Author       string    `json:"author,omitempty"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	LayerDigests []string  `json:"layerDigests"`
}

// Digest returns the digest of content: "sha256:" and 64 hexadecimal digits.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ValidDigest reports whether a text is a sha256 digest.
func ValidDigest(text string) bool {
	sum, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}

// Describe returns the descriptor of content.
func Describe(mediaType string, content []byte) Descriptor {
	return Descriptor{MediaType: mediaType, Digest: Digest(content), Size: int64(len(content))}
}

// CheckSize refuses content whose size differs from the announced one.
func (d Descriptor) CheckSize(content []byte) error {
	if int64(len(content)) != d.Size {
		return fmt.Errorf("%s has %d bytes instead of the announced %d", d.Digest, len(content), d.Size)
	}
	return nil
}

// Matches returns an error if the content does not match the descriptor.
func (d Descriptor) Matches(content []byte) error {
	if err := d.CheckSize(content); err != nil {
		return err
	}
	if Digest(content) != d.Digest {
		return fmt.Errorf("%s was tampered with: its content has the digest %s", d.Digest, Digest(content))
	}
	return nil
}

// CheckModule refuses content that is not a WebAssembly core module.
func CheckModule(content []byte) error {
	switch {
	case !bytes.HasPrefix(content, []byte("\x00asm")):
		return fmt.Errorf("%w: its layer is not WebAssembly", ErrLayout)
	case !bytes.HasPrefix(content, []byte("\x00asm\x01\x00\x00\x00")):
		return fmt.Errorf("%w: its layer is a WebAssembly component, not a core module", ErrLayout)
	}
	return nil
}
