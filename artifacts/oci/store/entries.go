package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/private"
)

// Entry associates a reference with a digest in the store.
type Entry struct {
	Name   string    `json:"name"`   // the reference without the scheme
	Digest string    `json:"digest"` // of the manifest
	Size   int64     `json:"size"`   // of the module, in bytes
	Pulled time.Time `json:"pulled"`

	// Subject is the digest of the artifact that an attachment belongs to. It is empty for
	// modules.
	Subject string `json:"subject,omitempty"`
}

// maxFileName bounds the part of a file name that shows the reference.
const maxFileName = 150

// entry is the path of a reference's file. A name that is too long for a file is cut, and
// ends with a digest.
func (s *Store) entry(name string) string {
	file := url.QueryEscape(name)
	if len(file) > maxFileName {
		file = file[:maxFileName] + "-" + strings.TrimPrefix(layout.Digest([]byte(name)), "sha256:")
	}
	return filepath.Join(s.dir, "refs", file+".json")
}

// Set associates a reference with a digest.
func (s *Store) Set(e Entry) error {
	content, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := s.write(s.entry(e.Name), content); err != nil {
		return fmt.Errorf("storing %s: %w", e.Name, err)
	}
	return nil
}

// Find returns the entry of a reference.
//
// Errors: ErrAbsent, ErrCorrupted, private.ErrShared.
func (s *Store) Find(name string) (Entry, error) {
	e, err := s.read(s.entry(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, fmt.Errorf("%s: %w", name, ErrAbsent)
	case errors.Is(err, errBroken) || err == nil && e.Name != name:
		return Entry{}, fmt.Errorf("%s: %w: its entry cannot be read", name, ErrCorrupted)
	case err != nil:
		return Entry{}, fmt.Errorf("%s: %w", name, err)
	}
	return e, nil
}

// errBroken is the error of a file that is not an entry.
var errBroken = errors.New("broken")

// read reads the entry of a file.
func (s *Store) read(path string) (Entry, error) {
	var e Entry
	content, err := private.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(content, &e); err != nil || !layout.ValidDigest(e.Digest) || s.entry(e.Name) != path {
		return Entry{}, errBroken
	}
	return e, nil
}

// List lists the references of modules by name. It skips corrupted entries.
func (s *Store) List() ([]Entry, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Subject != "" }), err
}

// Attached lists the attachments of an artifact.
func (s *Store) Attached(digest string) ([]Entry, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Subject != digest }), err
}

// all lists all references by name, as far as they can be read.
func (s *Store) all() ([]Entry, error) {
	found, err := s.scan()
	if errors.Is(err, errUnread) {
		err = nil
	}
	return found, err
}

// errUnread says that an entry may be good, and cannot be read now. What it needs must not be removed.
var errUnread = errors.New("the store keeps what may not be needed any more")

// scan lists all references by name. With errUnread, it has those that can be read.
func (s *Store) scan() ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, "refs"))
	if err != nil {
		return nil, err
	}
	var found []Entry
	for _, f := range files {
		e, failed := s.read(filepath.Join(s.dir, "refs", f.Name()))
		switch {
		case failed == nil:
			found = append(found, e)
		case f.Type().IsRegular() && !errors.Is(failed, errBroken) && !errors.Is(failed, fs.ErrNotExist):
			err = fmt.Errorf("%w: %w", errUnread, failed)
		}
	}
	slices.SortFunc(found, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// Manifest returns a stored manifest, and its bytes.
func (s *Store) Manifest(digest string) (*layout.Manifest, []byte, error) {
	raw, err := s.Get(digest)
	if err != nil {
		return nil, nil, err
	}
	m, err := layout.ReadManifest(layout.MediaManifest, raw)
	return m, raw, err
}
