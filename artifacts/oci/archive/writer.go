package archive

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// Save writes entries of a store, with their attachments from the same repository.
// Attachments of equal content in other repositories are not included. Equal entries give
// equal files.
func Save(to io.Writer, s *store.Store, entries []store.Entry) error {
	var all []store.Entry
	for _, e := range entries {
		attached, err := s.Attached(e.Digest)
		if err != nil {
			return err
		}
		elsewhere := func(a store.Entry) bool { return repositoryOf(a) != repositoryOf(e) }
		all = append(append(all, e), slices.DeleteFunc(attached, elsewhere)...)
	}
	list := index{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []layout.Descriptor{}}
	blobs := map[string]bool{}
	for _, e := range all {
		d, parts, err := describe(s, e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		list.Manifests = append(list.Manifests, d)
		for _, digest := range parts {
			blobs[digest] = true
		}
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	for _, f := range []struct {
		name    string
		content []byte
	}{{layoutFile, []byte(layoutVersion)}, {indexFile, encoded}} {
		if err := write(w, f.name, f.content); err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(blobs)) {
		content, err := s.Get(digest)
		if err != nil {
			return err
		}
		if err := write(w, blobsDir+strings.TrimPrefix(digest, "sha256:"), content); err != nil {
			return err
		}
	}
	return w.Close()
}

// repositoryOf is the repository of an entry: its name without tag and digest.
func repositoryOf(e store.Entry) string {
	r, err := oci.Parse(e.Name)
	if err != nil {
		return e.Name
	}
	return r.Registry + "/" + r.Repository
}

// describe returns the descriptor of an entry for the index, and the digests of everything
// that the entry needs.
func describe(s *store.Store, e store.Entry) (layout.Descriptor, []string, error) {
	m, raw, err := s.Manifest(e.Digest)
	if err != nil {
		return layout.Descriptor{}, nil, err
	}
	d := layout.Describe(layout.MediaManifest, raw)
	d.Annotations = map[string]string{annotationName: e.Name}
	if e.Subject != "" {
		d.Annotations[annotationOwner] = e.Subject
	}
	parts := []string{d.Digest}
	for _, part := range append([]layout.Descriptor{m.Config}, m.Layers...) {
		parts = append(parts, part.Digest)
	}
	return d, parts, nil
}

func write(w *tar.Writer, name string, content []byte) error {
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
