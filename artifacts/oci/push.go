package oci

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Push pushes a packed module to a tag, and returns its digest. It skips what the registry
// already has.
//
// Errors: ErrDenied, ErrUnavailable.
func (c *Client) Push(ctx context.Context, r Reference, p *layout.Packed) (string, error) {
	if r.Tag == "" || r.Digest != "" {
		return "", fmt.Errorf("%s: name a tag to push to, and no digest", r)
	}
	repo, err := c.repository(ctx, r)
	if err != nil {
		return "", explained(r, err)
	}
	blobs := []layout.Descriptor{layout.Describe(layout.MediaConfig, p.Config), layout.Describe(layout.MediaModule, p.Module)}
	for i, content := range [][]byte{p.Config, p.Module} {
		if err := c.send(ctx, repo, r.short(), blobs[i], content); err != nil {
			return "", explained(r, err)
		}
	}
	manifest := layout.Describe(layout.MediaManifest, p.Manifest)
	if err := repo.Manifests().PushReference(ctx, described(manifest), bytes.NewReader(p.Manifest), r.Tag); err != nil {
		return "", explained(r, err)
	}
	return manifest.Digest, nil
}

// send pushes a blob that the registry does not have.
func (c *Client) send(ctx context.Context, repo *remote.Repository, name string, d layout.Descriptor, content []byte) error {
	if there, err := repo.Blobs().Exists(ctx, described(d)); err != nil || there {
		return err
	}
	var from io.Reader = bytes.NewReader(content) // can be rewound for a retry
	if d.MediaType != layout.MediaModule {
		return repo.Blobs().Push(ctx, described(d), from)
	}
	moved, ended := c.options.Progress(name)
	defer ended()
	moved(0, d.Size)
	err := repo.Blobs().Push(ctx, described(d), from)
	if err == nil {
		moved(d.Size, d.Size)
	}
	return err
}

// described converts a descriptor to the type of the library.
func described(d layout.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: ociDigest(d.Digest), Size: d.Size}
}

func ociDigest(text string) digest.Digest { return digest.Digest(text) }
