package archive

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	entries, err := newChecker(s).entries(list.Manifests)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	for _, e := range entries {
		if err := s.Set(e); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Subject != "" }), nil
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

// checker checks the artifacts of an archive. It reads each content once, however many artifacts
// name it.
type checker struct {
	store     *store.Store
	manifests map[string]*layout.Manifest // by digest
	contents  map[string]content          // by digest
}

// content is what is known about a stored content.
type content struct {
	size int64
	kind error // why it is not a module; nil: it is one
}

func newChecker(s *store.Store) *checker {
	return &checker{store: s, manifests: map[string]*layout.Manifest{}, contents: map[string]content{}}
}

// entries returns the entries of all artifacts. An artifact that belongs to another one cannot
// take the name of a module, which would not be listed.
func (c *checker) entries(list []layout.Descriptor) ([]store.Entry, error) {
	var all []store.Entry
	modules := map[string]bool{} // names with digests
	for _, d := range list {
		e, err := c.entry(d)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if r, err := oci.Parse(e.Name); err == nil && e.Subject == "" {
			modules[r.At(e.Digest).Name()] = true
		}
	}
	for _, e := range all {
		if e.Subject == "" {
			continue
		}
		r, err := oci.Parse(e.Name)
		switch {
		case err != nil:
			return nil, err
		case !modules[r.At(e.Subject).Name()]:
			return nil, fmt.Errorf("%s belongs to %q, which the archive does not have", e.Name, legible.Clip(e.Subject, maxName))
		case e.Name != r.At(e.Digest).Name() && e.Name != r.Tagged(oci.SignatureTag(e.Subject)).Name():
			return nil, fmt.Errorf("%s belongs to %s, so it cannot have this name", e.Name, e.Subject)
		}
	}
	return all, nil
}

// entry checks that an artifact is complete and matches its description.
func (c *checker) entry(d layout.Descriptor) (store.Entry, error) {
	e := store.Entry{Name: d.Annotations[annotationName], Digest: d.Digest, Subject: d.Annotations[annotationOwner], Pulled: time.Now().UTC().Truncate(time.Second)}
	r, err := oci.Parse(e.Name)
	switch {
	case err != nil:
		return e, fmt.Errorf("%s has an invalid name: %w", d.Digest, err)
	case r.Name() != e.Name, r.Digest != "" && r.Digest != d.Digest:
		return e, fmt.Errorf("%s has the name of something else: %s", d.Digest, e.Name)
	}
	if e.Size, err = c.check(d, e.Subject == ""); err != nil {
		return e, fmt.Errorf("%s: %w", e.Name, err)
	}
	return e, nil
}

// check checks an artifact, and returns the size of its module; zero if it has to have none.
func (c *checker) check(d layout.Descriptor, isModule bool) (size int64, err error) {
	m, err := c.manifest(d)
	if err != nil {
		return 0, err
	}
	if !isModule {
		for _, part := range append(m.Layers, m.Config) {
			if _, err := c.content(part); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	module, err := m.Module(maxBlob)
	if err != nil {
		return 0, err
	}
	config, err := c.store.Get(m.Config.Digest)
	if err == nil {
		err = m.Config.CheckSize(config)
	}
	if err == nil {
		err = m.CheckConfig(config)
	}
	if err != nil {
		return 0, err
	}
	found, err := c.content(module)
	if err == nil {
		err = found.kind
	}
	return module.Size, err
}

// manifest reads a manifest.
func (c *checker) manifest(d layout.Descriptor) (*layout.Manifest, error) {
	if d.Size > layout.MaxManifest {
		return nil, fmt.Errorf("its manifest is announced with %d bytes, and the limit is %d", d.Size, layout.MaxManifest)
	}
	if m := c.manifests[d.Digest]; m != nil {
		return m, nil
	}
	raw, err := c.store.Get(d.Digest)
	if err == nil {
		err = d.CheckSize(raw)
	}
	if err != nil {
		return nil, err
	}
	m, err := layout.ReadManifest(layout.MediaManifest, raw)
	if err == nil {
		c.manifests[d.Digest] = m
	}
	return m, err
}

// content checks that a part of an artifact exists, with the announced size.
func (c *checker) content(d layout.Descriptor) (content, error) {
	found, ok := c.contents[d.Digest]
	if !ok {
		bytes, err := c.store.Get(d.Digest)
		if err != nil {
			return content{}, err
		}
		found = content{int64(len(bytes)), layout.CheckModule(bytes)}
		c.contents[d.Digest] = found
	}
	if found.size != d.Size {
		return content{}, fmt.Errorf("%s has %d bytes instead of the announced %d", d.Digest, found.size, d.Size)
	}
	return found, nil
}
