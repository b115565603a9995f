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

	"github.com/kopf-wasm/kopf/host/oci/layout"
)

// Entry is what a reference stands for on this machine.
type Entry struct {
	Name   string    `json:"name"`   // the reference without the scheme
	Digest string    `json:"digest"` // of the manifest
	Size   int64     `json:"size"`   // of the module, in bytes
	Pulled time.Time `json:"pulled"`

	// Subject is the digest of the artifact that this belongs to, as a signature does;
	// empty for modules.
	Subject string `json:"subject,omitempty"`
}

func (s *Store) entry(name string) string {
	return filepath.Join(s.dir, "refs", url.QueryEscape(name)+".json")
}

// Set lets a reference stand for a digest.
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

// Find tells what a reference stands for.
//
// Errors: ErrAbsent.
func (s *Store) Find(name string) (Entry, error) {
	var e Entry
	content, err := os.ReadFile(s.entry(name))
	if errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("%s: %w", name, ErrAbsent)
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(content, &e); err != nil || !layout.ValidDigest(e.Digest) || e.Name != name {
		return Entry{}, fmt.Errorf("%s: %w: its entry is broken, it has to be pulled again", name, ErrAbsent)
	}
	return e, nil
}

// List lists the references of modules by name. Broken entries are left out.
func (s *Store) List() ([]Entry, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Subject != "" }), err
}

// Attached lists what belongs to an artifact.
func (s *Store) Attached(digest string) ([]Entry, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Subject != digest }), err
}

// all lists all references by name.
func (s *Store) all() ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, "refs"))
	if err != nil {
		return nil, err
	}
	var found []Entry
	for _, f := range files {
		name, err := url.QueryUnescape(strings.TrimSuffix(f.Name(), ".json"))
		if err != nil || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if e, err := s.Find(name); err == nil {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// Manifest reads a stored manifest, and its bytes.
func (s *Store) Manifest(digest string) (*layout.Manifest, []byte, error) {
	raw, err := s.Get(digest)
	if err != nil {
		return nil, nil, err
	}
	m, err := layout.ReadManifest(layout.MediaManifest, raw)
	return m, raw, err
}
