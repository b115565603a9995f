package modules

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/archive"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// Limits of the attachments of an artifact.
const (
	MaxAttachment = 64 << 20 // bytes in total: SBOMs can be large
	maxParts      = 100      // layers of one attachment: cosign keeps a layer for each signature
)

// errNoStore is the error of operations that need a store.
var errNoStore = errors.New("there is no store on this machine: set HOME or XDG_CACHE_HOME")

// Save writes artifacts with all their attachments into an archive. It fetches what the
// store lacks. Only the registry knows whether the store has all attachments, so it is asked
// unless Pull is Never.
func (f *Finder) Save(ctx context.Context, to io.Writer, refs []oci.Reference) error {
	if f.Store == nil {
		return errNoStore
	}
	attachments := *f
	if f.Pull == Missing {
		attachments.Pull = Always
	}
	var entries []store.Entry
	for _, r := range refs {
		found, err := f.Fetch(ctx, r)
		if err != nil {
			return err
		}
		if _, err := attachments.Attached(ctx, found.Manifest.Reference, true); err != nil {
			return err
		}
		e, err := f.Store.Find(r.Name())
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	return archive.Save(to, f.Store, entries)
}

// Complete fetches the attachments of an artifact, such as signatures, so that it can be
// verified and saved without the registry. Without a store, it does nothing.
func (f *Finder) Complete(ctx context.Context, r oci.Reference) error {
	if f.Store == nil {
		return nil
	}
	done, err := f.Store.Share()
	if err != nil {
		return err
	}
	defer done()
	_, err = f.Attached(ctx, r, true)
	return err
}

// Attached lists the attachments of an artifact, except the signature under cosign's tag.
// With content, it reads all of them, and so stores them.
func (f *Finder) Attached(ctx context.Context, r oci.Reference, content bool) ([]layout.Descriptor, error) {
	var last error
	for _, from := range f.Attachments() {
		found, err := attached(ctx, from, r, content)
		if err == nil {
			return found, nil
		}
		last = err
	}
	return nil, last
}

func attached(ctx context.Context, from oci.Attachments, r oci.Reference, content bool) ([]layout.Descriptor, error) {
	found, err := from.Referrers(ctx, r)
	if err != nil {
		return nil, err
	}
	at := make([]oci.Reference, len(found))
	for i, d := range found {
		at[i] = r.At(d.Digest)
	}
	if content {
		at = append(at, r.Tagged(oci.SignatureTag(r.Digest)))
	}
	read := int64(0)
	for i, ref := range at {
		m, _, err := from.Attached(ctx, ref)
		if errors.Is(err, oci.ErrNotFound) && ref.Tag != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if i < len(found) && m.ArtifactType != "" {
			found[i].ArtifactType = m.ArtifactType // some registries return the type of the config
		}
		if !content {
			continue
		}
		if len(m.Layers) > maxParts {
			return nil, fmt.Errorf("%s: %w: what belongs to it has %d layers; at most %d", ref, oci.ErrLayout, len(m.Layers), maxParts)
		}
		for _, part := range append(m.Layers, m.Config) {
			if _, err := from.Blob(ctx, ref, part, MaxAttachment-read); err != nil {
				return nil, err
			}
			read += part.Size
		}
	}
	return found, nil
}

// LoadArchive loads the artifacts of an archive into the store.
func (f *Finder) LoadArchive(from io.Reader) ([]store.Entry, error) {
	if f.Store == nil {
		return nil, errNoStore
	}
	return archive.Load(from, f.Store)
}
