package oci

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Attachments provides attachments of artifacts, such as signatures, SBOMs and provenance.
// Client reads them from a registry, and a store can keep them.
type Attachments interface {
	// Attached reads a manifest and its bytes. Errors: ErrNotFound, and others.
	Attached(ctx context.Context, r Reference) (*layout.Manifest, []byte, error)

	// Referrers lists the artifacts that refer to an artifact.
	Referrers(ctx context.Context, r Reference) ([]layout.Descriptor, error)

	// Blob reads content of at most limit bytes.
	Blob(ctx context.Context, r Reference, d layout.Descriptor, limit int64) ([]byte, error)
}

// maxReferrers bounds the number of referrers that are read.
const maxReferrers = 200

// SignatureTag is the tag under which cosign keeps the signatures of a digest.
func SignatureTag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Referrers lists the artifacts that refer to an artifact: signatures, SBOMs, provenance. If
// the registry does not support referrers, it reads the tag that clients maintain instead.
// The reference must have a digest.
func (c *Client) Referrers(ctx context.Context, r Reference) ([]layout.Descriptor, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return nil, explained(r, err)
	}
	var found []layout.Descriptor
	subject := ocispec.Descriptor{MediaType: layout.MediaManifest, Digest: ociDigest(r.Digest)}
	err = repo.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			found = append(found, layout.Descriptor{
				MediaType: d.MediaType, Digest: d.Digest.String(), Size: d.Size, ArtifactType: d.ArtifactType, Annotations: d.Annotations,
			})
		}
		if len(found) > maxReferrers {
			return fmt.Errorf("%w: more than %d artifacts refer to it", ErrLayout, maxReferrers)
		}
		return nil
	})
	return found, explained(r, err)
}

// Attached reads the manifest of an attachment, and its bytes.
//
// Errors: as those of Manifest.
func (c *Client) Attached(ctx context.Context, r Reference) (*layout.Manifest, []byte, error) {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return nil, nil, explained(r, err)
	}
	raw, parsed, err := fetchManifest(ctx, repo, r)
	if err != nil {
		return nil, nil, explained(r, err)
	}
	return parsed, raw, nil
}

// Attach attaches content to an artifact. The type is that of the attachment, and of its only
// layer.
func (c *Client) Attach(ctx context.Context, r Reference, subject layout.Descriptor, mediaType string, content []byte) error {
	layer := layout.Describe(mediaType, content)
	manifest, config, err := layout.Attach(subject, mediaType, []layout.Descriptor{layer}, nil)
	if err != nil {
		return err
	}
	return c.Put(ctx, r.At(layout.Digest(manifest)), manifest, map[string][]byte{layer.Digest: content, layout.Digest(config): config})
}

// Put pushes the parts, which are given by digest, and then the manifest, to a tag or to its
// digest.
func (c *Client) Put(ctx context.Context, r Reference, manifest []byte, parts map[string][]byte) error {
	repo, err := c.repository(ctx, r)
	if err != nil {
		return explained(r, err)
	}
	for _, digest := range slices.Sorted(maps.Keys(parts)) {
		if err := c.send(ctx, repo, r.short(), layout.Describe("", parts[digest]), parts[digest]); err != nil {
			return explained(r, err)
		}
	}
	d := layout.Describe(layout.MediaManifest, manifest)
	return explained(r, repo.Manifests().PushReference(ctx, described(d), bytes.NewReader(manifest), r.wanted()))
}
