package modules

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// Attachments returns the places with attachments of artifacts, in the order of lookup: the
// store if the registry may be skipped, and the registry if it may be asked. The store keeps
// what is read from the registry.
func (f *Finder) Attachments() []oci.Attachments {
	var from []oci.Attachments
	if f.Store != nil && f.Pull != Always && f.Pull != "" {
		from = append(from, kept{f.Store})
	}
	switch {
	case f.Pull == Never:
	case f.Store == nil:
		from = append(from, f.Client)
	default:
		from = append(from, &keeping{f.Client, f.Store, map[string]string{}})
	}
	return from
}

// kept reads attachments from the store.
type kept struct{ store *store.Store }

func (k kept) Attached(_ context.Context, r oci.Reference) (*layout.Manifest, []byte, error) {
	e, err := k.store.Find(r.Name())
	if errors.Is(err, store.ErrAbsent) {
		return nil, nil, fmt.Errorf("%s: %w in the store", r, oci.ErrNotFound)
	}
	if err != nil {
		return nil, nil, err
	}
	return k.manifest(e)
}

// manifest reads the manifest of an entry. A lost or corrupted manifest is an error, not an
// absence, because it may be a signature.
func (k kept) manifest(e store.Entry) (*layout.Manifest, []byte, error) {
	m, raw, err := k.store.Manifest(e.Digest)
	switch {
	case errors.Is(err, store.ErrAbsent):
		return nil, nil, fmt.Errorf("%s: %w: the store lacks %s", e.Name, oci.ErrMissing, e.Digest)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return m, raw, nil
}

func (k kept) Referrers(_ context.Context, r oci.Reference) ([]layout.Descriptor, error) {
	entries, err := k.store.Attached(r.Digest)
	if err != nil {
		return nil, err
	}
	var found []layout.Descriptor
	for _, e := range entries {
		if e.Name != r.At(e.Digest).Name() {
			continue // it has a tag, as cosign's signatures do, or is in another repository
		}
		m, raw, err := k.manifest(e)
		if err != nil {
			return nil, err
		}
		d := layout.Describe(layout.MediaManifest, raw)
		d.ArtifactType = m.ArtifactType
		found = append(found, d)
	}
	return found, nil
}

func (k kept) Blob(_ context.Context, r oci.Reference, d layout.Descriptor, limit int64) ([]byte, error) {
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("%s: %w: %q of %d bytes is announced, and the limit is %d", r, oci.ErrLayout, d.Digest, d.Size, limit)
	}
	content, err := k.store.Get(d.Digest)
	switch {
	case errors.Is(err, store.ErrAbsent):
		return nil, fmt.Errorf("%s: %w: the store lacks %s", r, oci.ErrMissing, d.Digest)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if err := d.CheckSize(content); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r, oci.ErrTampered, err)
	}
	return content, nil
}

// keeping reads attachments from a registry, and stores them.
type keeping struct {
	*oci.Client
	store    *store.Store
	subjects map[string]string // maps the names of what was read to the digest of its artifact
}

func (k *keeping) Attached(ctx context.Context, r oci.Reference) (*layout.Manifest, []byte, error) {
	m, raw, err := k.Client.Attached(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	subject := k.subjects[r.Name()]
	if digest, ok := strings.CutSuffix(r.Tag, ".sig"); ok && subject == "" {
		subject = strings.Replace(digest, "-", ":", 1)
	}
	if layout.ValidDigest(subject) {
		err = k.keep(store.Entry{Name: r.Name(), Digest: layout.Digest(raw), Subject: subject}, raw)
	}
	return m, raw, err
}

func (k *keeping) keep(e store.Entry, raw []byte) error {
	if _, err := k.store.Put(raw); err != nil {
		return err
	}
	return k.store.Set(e)
}

func (k *keeping) Referrers(ctx context.Context, r oci.Reference) ([]layout.Descriptor, error) {
	found, err := k.Client.Referrers(ctx, r)
	for _, d := range found {
		k.subjects[r.At(d.Digest).Name()] = r.Digest
	}
	return found, err
}

func (k *keeping) Blob(ctx context.Context, r oci.Reference, d layout.Descriptor, limit int64) ([]byte, error) {
	content, err := k.Client.Blob(ctx, r, d, limit)
	if err != nil {
		return nil, err
	}
	_, err = k.store.Put(content)
	return content, err
}
