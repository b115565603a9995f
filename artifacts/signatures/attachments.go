package signatures

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

const (
	mediaPayload        = "application/vnd.dev.cosign.simplesigning.v1+json"
	annotationSignature = "dev.cosignproject.cosign/signature"

	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationLog         = "dev.sigstore.cosign/bundle"
	annotationTimestamp   = "dev.sigstore.cosign/rfc3161timestamp"
)

// Collect reads the signatures of an artifact. The reference must have a digest.
//
// Errors: oci.ErrLayout, if they have more than maxPayloads bytes together; those of the attachments.
func Collect(ctx context.Context, from oci.Attachments, r oci.Reference) ([]Signature, error) {
	from = &rationed{from, maxPayloads}
	tagged, err := collectTagged(ctx, from, r)
	if err != nil {
		return nil, err
	}
	referring, err := collectReferring(ctx, from, r)
	return append(tagged, referring...), err
}

// rationed bounds the content that is read, in bytes: all of it is in memory at once.
type rationed struct {
	oci.Attachments
	left int64
}

func (a *rationed) Blob(ctx context.Context, r oci.Reference, d layout.Descriptor, limit int64) ([]byte, error) {
	if d.Size > a.left && d.Size <= limit {
		return nil, fmt.Errorf("%s: %w: its signatures have more than %d bytes together", r, oci.ErrLayout, maxPayloads)
	}
	content, err := a.Attachments.Blob(ctx, r, d, limit)
	a.left -= int64(len(content))
	return content, err
}

// collectTagged reads the signatures under cosign's tag.
func collectTagged(ctx context.Context, from oci.Attachments, r oci.Reference) ([]Signature, error) {
	at := r.Tagged(oci.SignatureTag(r.Digest))
	m, _, err := from.Attached(ctx, at)
	if errors.Is(err, oci.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Signature
	for _, layer := range m.Layers[:min(len(m.Layers), maxSignatures)] {
		text, ok := layer.Annotations[annotationSignature]
		if layer.MediaType != mediaPayload || !ok {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: a signature is not in Base64", at, ErrUnverified)
		}
		content, err := from.Blob(ctx, at, layer, maxPayload)
		if err != nil {
			return nil, err
		}
		found = append(found, Signature{
			Where: at.String(), Payload: content, Raw: raw,
			Certificate: layer.Annotations[annotationCertificate], Log: layer.Annotations[annotationLog], Timestamp: layer.Annotations[annotationTimestamp],
		})
	}
	return found, nil
}

// collectReferring reads the bundles among the referrers.
func collectReferring(ctx context.Context, from oci.Attachments, r oci.Reference) ([]Signature, error) {
	referrers, err := from.Referrers(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Signature
	for _, d := range referrers {
		if !isBundle(d.ArtifactType) && d.ArtifactType != "" && d.ArtifactType != layout.MediaEmpty || len(found) == maxSignatures {
			continue // some registries return the type of the config, which says nothing
		}
		at := r.At(d.Digest)
		m, _, err := from.Attached(ctx, at)
		if err != nil {
			return nil, err
		}
		if !isBundle(m.ArtifactType) {
			continue
		}
		if len(m.Layers) != 1 {
			return nil, fmt.Errorf("%s: %w: a bundle has %d layers, not one", at, oci.ErrLayout, len(m.Layers))
		}
		content, err := from.Blob(ctx, at, m.Layers[0], maxPayload)
		if err != nil {
			return nil, err
		}
		found = append(found, Signature{Where: at.String(), Bundle: content})
	}
	return found, nil
}

// isBundle reports whether a type is a Sigstore bundle of any version.
func isBundle(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.dev.sigstore.bundle")
}

// mediaImageConfig is the config type of cosign's manifests, because cosign treats them as
// images.
const mediaImageConfig = "application/vnd.oci.image.config.v1+json"

// Sign signs an artifact, and pushes the signature: to cosign's tag, which keeps other
// signatures, or as a bundle among the referrers. The reference must have a digest.
func Sign(ctx context.Context, c *oci.Client, r oci.Reference, subject layout.Descriptor, key *PrivateKey, annotations map[string]string, asBundle bool) error {
	if asBundle {
		content, err := newBundle(key, r.Digest, annotations)
		if err != nil {
			return err
		}
		return c.Attach(ctx, r, subject, mediaBundle, content)
	}
	content, err := newPayload(r.Registry+"/"+r.Repository, r.Digest, annotations)
	if err != nil {
		return err
	}
	layer, err := newLayer(key, content)
	if err != nil {
		return err
	}
	return addLayer(ctx, c, r.Tagged(oci.SignatureTag(r.Digest)), layer, content, key)
}

// newLayer signs content, and describes the layer with it.
func newLayer(key *PrivateKey, content []byte) (layout.Descriptor, error) {
	raw, err := key.Sign(content)
	if err != nil {
		return layout.Descriptor{}, err
	}
	layer := layout.Describe(mediaPayload, content)
	layer.Annotations = map[string]string{annotationSignature: base64.StdEncoding.EncodeToString(raw)}
	return layer, nil
}
