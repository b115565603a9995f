package oci

import (
	"context"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Image is anything that a registry keeps under a tag: a module, an image for one or several
// architectures, or a chart.
type Image struct {
	Reference  Reference           // with the digest
	Descriptor layout.Descriptor   // of the manifest, or of the index
	Listed     []layout.Descriptor // the manifests that the index lists; nil without an index
}

// Image reads the manifest or the index that a reference names. It resolves a tag. If the
// reference has a digest, the digest takes precedence.
//
// Errors: ErrNotFound, ErrDenied, ErrUnavailable, ErrTampered, ErrImage.
func (c *Client) Image(ctx context.Context, r Reference) (*Image, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return nil, explained(r, err)
	}
	mediaType, raw, err := fetchRaw(ctx, repo, r)
	if err != nil {
		return nil, explained(r, err)
	}
	listed, err := layout.Listed(mediaType, raw)
	if err != nil {
		return nil, explained(r, err)
	}
	r.Digest = layout.Digest(raw)
	return &Image{Reference: r, Descriptor: layout.Describe(mediaType, raw), Listed: listed}, nil
}
