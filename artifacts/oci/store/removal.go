package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Remove removes a reference, by its name with or without its digest, or all references to a
// digest. It then removes everything that no reference needs: attachments of removed artifacts,
// and content. It returns the names of the removed references.
//
// Errors: ErrAbsent.
func (s *Store) Remove(nameOrDigest string) ([]string, error) {
	unlock, err := s.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, e := range entries {
		if nameOrDigest == e.Name || nameOrDigest == e.Digest || nameOrDigest == e.Name+"@"+e.Digest {
			if err := os.Remove(s.entry(e.Name)); err != nil {
				return gone, err
			}
			gone = append(gone, e.Name)
		}
	}
	if gone == nil {
		return nil, fmt.Errorf("%s: %w", nameOrDigest, ErrAbsent)
	}
	if err := s.detach(); err != nil {
		return gone, err
	}
	return gone, s.sweep()
}

// detach removes the attachments of artifacts without a reference.
func (s *Store) detach() error {
	all, err := s.scan()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range all {
		if e.Subject == "" {
			there[e.Digest] = true
		}
	}
	for _, e := range all {
		if e.Subject != "" && !there[e.Subject] {
			err = errors.Join(err, ignoreMissing(os.Remove(s.entry(e.Name))))
		}
	}
	return err
}

// Sweep removes content that no reference needs, such as the remains of failed operations.
func (s *Store) Sweep() error {
	unlock, err := s.lock(true)
	if err != nil {
		return err
	}
	defer unlock()
	return s.sweep()
}

// sweep removes content without references, and temporary files of killed processes. The
// caller holds the lock.
func (s *Store) sweep() error {
	entries, err := s.scan()
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, e := range entries {
		needed[e.Digest] = true
		m, _, err := s.Manifest(e.Digest)
		switch {
		case errors.Is(err, ErrAbsent) || errors.Is(err, ErrCorrupted) || errors.Is(err, layout.ErrLayout):
			continue // its parts are fetched again with it
		case err != nil:
			return fmt.Errorf("%w: %s: %w", errUnread, e.Name, err)
		}
		needed[m.Config.Digest] = true
		for _, layer := range m.Layers {
			needed[layer.Digest] = true
		}
	}
	return errors.Join(
		purge(filepath.Join(s.dir, "refs"), func(name string) bool { return !strings.HasPrefix(name, ".") }),
		purge(filepath.Join(s.dir, "blobs", "sha256"), func(name string) bool { return needed["sha256:"+name] }),
	)
}

// purge removes the files of a folder that are not needed.
func purge(folder string, isNeeded func(name string) bool) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !isNeeded(f.Name()) && !recent(f) {
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(folder, f.Name()))))
		}
	}
	return err
}

// recent reports whether another process may still write a temporary file.
func recent(f fs.DirEntry) bool {
	info, err := f.Info()
	temporary := strings.HasPrefix(f.Name(), ".")
	return temporary && (err != nil || time.Since(info.ModTime()) < time.Hour)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
