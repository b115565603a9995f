// Package archive carries modules in a file, to where no registry can be reached:
// a tar of an OCI image layout, which other tools read too.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package archive

import (
	"errors"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// ErrArchive is in the errors about files that are no archives, or broken.
var ErrArchive = errors.New("not an archive of modules")

const (
	layoutFile      = "oci-layout"
	indexFile       = "index.json"
	blobsDir        = "blobs/sha256/"
	mediaIndex      = "application/vnd.oci.image.index.v1+json"
	annotationName  = "org.opencontainers.image.ref.name"
	annotationOwner = "dev.kopf.subject" // what an attachment belongs to
	layoutVersion   = `{"imageLayoutVersion":"1.0.0"}`
)

// Bounds of what is read.
const (
	maxEntries   = 10_000
	maxArtifacts = 1000
	maxBlob      = 256 << 20
	maxName      = 200 // bytes of a name in errors
)

// index is index.json.
type index struct {
	SchemaVersion int                 `json:"schemaVersion"`
	MediaType     string              `json:"mediaType"`
	Manifests     []layout.Descriptor `json:"manifests"`
}
