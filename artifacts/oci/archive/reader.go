package archive

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Load loads the artifacts of an archive into a store, and returns the entries of the
// modules. It sets references only after it has read and checked everything. A refused
// archive leaves nothing in the store.
//
// Errors: ErrArchive.
func Load(from io.Reader, s *store.Store) ([]store.Entry, error) {
	modules, err := load(from, s)
	if err != nil {
		return nil, errors.Join(err, s.Sweep())
	}
	return modules, nil
}

func load(from io.Reader, s *store.Store) ([]store.Entry, error) {
	done, err := s.Share()
	if err != nil {
		return nil, err
	}
	defer done()
	list, err := unpack(from, s)
	if err != nil {
		return nil, err
	}
	var entries, modules []store.Entry
	for _, d := range list.Manifests {
		e, err := check(s, d)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrArchive, err)
		}
		entries = append(entries, e)
		if e.Subject == "" {
			modules = append(modules, e)
		}
	}
	for _, e := range entries {
		if err := s.Set(e); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// unpack stores the content of an archive, and returns its index.
func unpack(from io.Reader, s *store.Store) (*index, error) {
	var list *index
	r := tar.NewReader(from)
	for n := 0; ; n++ {
		header, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && list == nil:
			return nil, fmt.Errorf("%w: it has no %s", ErrArchive, indexFile)
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrArchive, err)
		case n > maxEntries:
			return nil, fmt.Errorf("%w: more than %d files", ErrArchive, maxEntries)
		case isSparse(header):
			return nil, fmt.Errorf("%w: %q is a sparse file", ErrArchive, legible.Clip(header.Name, maxName))
		case header.Name == indexFile && list != nil:
			return nil, fmt.Errorf("%w: it has more than one %s", ErrArchive, indexFile)
		}
		name := legible.Short(header.Name, maxName)
		sum, isBlob := strings.CutPrefix(header.Name, blobsDir)
		if header.Typeflag != tar.TypeReg || !isBlob && header.Name != indexFile {
			continue
		}
		limit := int64(maxBlob)
		if !isBlob {
			limit = layout.MaxManifest
		}
		content, err := io.ReadAll(io.LimitReader(r, limit+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", ErrArchive, name, err)
		case int64(len(content)) > limit:
			return nil, fmt.Errorf("%w: %s is larger than %d bytes", ErrArchive, name, limit)
		case isBlob && layout.Digest(content) != "sha256:"+sum:
			return nil, fmt.Errorf("%w: %s was tampered with: its content has the digest %s", ErrArchive, name, layout.Digest(content))
		case isBlob:
			_, err = s.Put(content)
		default:
			list = &index{}
			if err = layout.CheckValues(content); err == nil {
				err = json.Unmarshal(content, list)
			}
			if err != nil {
				err = fmt.Errorf("%w: %s: %w", ErrArchive, indexFile, err)
			} else if len(list.Manifests) > maxArtifacts {
				err = fmt.Errorf("%w: %s names %d artifacts; at most %d", ErrArchive, indexFile, len(list.Manifests), maxArtifacts)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// isSparse reports whether a file is stored with less than its content. A few bytes of such
// a file could fill a disk.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
}

// check checks that an artifact is complete and matches its description.
func check(s *store.Store, d layout.Descriptor) (store.Entry, error) {
	e := store.Entry{Name: d.Annotations[annotationName], Digest: d.Digest, Subject: d.Annotations[annotationOwner], Pulled: time.Now().UTC().Truncate(time.Second)}
	if _, err := oci.Parse(e.Name); err != nil {
		return e, fmt.Errorf("%s has an invalid name: %w", d.Digest, err)
	}
	m, raw, err := s.Manifest(d.Digest)
	if err == nil {
		err = d.Matches(raw)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", e.Name, err)
	}
	if e.Subject != "" {
		for _, part := range append(m.Layers, m.Config) {
			if err := complete(s, part, func([]byte) error { return nil }); err != nil {
				return e, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
		return e, nil
	}
	module, err := m.Module(maxBlob)
	if err != nil {
		return e, fmt.Errorf("%s: %w", e.Name, err)
	}
	e.Size = module.Size
	for _, part := range []struct {
		layout.Descriptor
		isRight func([]byte) error
	}{{m.Config, m.CheckConfig}, {module, layout.CheckModule}} {
		if err := complete(s, part.Descriptor, part.isRight); err != nil {
			return e, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return e, nil
}

// complete checks that a part of an artifact exists, with the announced size and valid
// content.
func complete(s *store.Store, d layout.Descriptor, isRight func([]byte) error) error {
	content, err := s.Get(d.Digest)
	if err == nil {
		err = d.CheckSize(content)
	}
	if err == nil {
		err = isRight(content)
	}
	return err
}
