// Package archive transports modules as a file, to places without a registry: a tar of an
// OCI image layout, which other tools can read.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package archive

import (
	"errors"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// ErrArchive says that a file is not an archive, or is corrupted.
var ErrArchive = errors.New("not an archive of modules")

const (
	layoutFile      = "oci-layout"
	indexFile       = "index.json"
	blobsDir        = "blobs/sha256/"
	mediaIndex      = "application/vnd.oci.image.index.v1+json"
	annotationName  = "org.opencontainers.image.ref.name"
	annotationOwner = "dev.kopf.subject" // the artifact of an attachment
	layoutVersion   = `{"imageLayoutVersion":"1.0.0"}`
)

// Limits of an archive.
const (
	maxEntries   = 10_000
	maxArtifacts = 1000
	maxBlob      = 256 << 20
	maxName      = 200 // bytes of a name in errors
)

// index is the content of index.json.
type index struct {
	SchemaVersion int                 `json:"schemaVersion"`
	MediaType     string              `json:"mediaType"`
	Manifests     []layout.Descriptor `json:"manifests"`
}
