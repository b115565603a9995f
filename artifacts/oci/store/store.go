// Package store keeps pulled modules on this machine, by digest. Writes are atomic. Reads
// check the digest, so corrupted files are detected. The store refuses directories and files
// that other users own or can write to, because they could redirect a reference to another
// module.
//
// Content is in blobs/sha256/HEX, and the digests of references are in refs/NAME.json.
package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/private"
)

// Errors of reading.
var (
	ErrAbsent    = errors.New("not in the store")
	ErrCorrupted = errors.New("corrupted in the store")
)

// Store is a directory with modules. Several processes may share it.
type Store struct {
	dir    string
	create func(dir, pattern string) (file, error) // creates temporary files
}

// file is the part of a temporary file that the store uses.
type file interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// DefaultDir is kopf/modules in the user's cache directory, or empty without such a
// directory. Lost content is pulled again.
func DefaultDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "kopf", "modules")
}

// Open opens the store in a directory, and creates the directory for its owner alone.
//
// Errors: private.ErrShared.
func Open(dir string) (*Store, error) {
	for _, sub := range []string{"", "blobs", "blobs/sha256", "refs"} {
		if err := private.Folder(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("the store of modules: %w", err)
		}
	}
	return &Store{dir: dir, create: func(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }}, nil
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) blob(digest string) string {
	return filepath.Join(s.dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// Get reads content. Corrupted content remains until it is put again.
//
// Errors: ErrAbsent, ErrCorrupted, private.ErrShared.
func (s *Store) Get(digest string) ([]byte, error) {
	if !layout.ValidDigest(digest) {
		return nil, fmt.Errorf("%w: %q is no digest", ErrAbsent, digest)
	}
	content, err := private.ReadFile(s.blob(digest))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", digest, ErrAbsent)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", digest, err)
	}
	if found := layout.Digest(content); found != digest {
		return nil, fmt.Errorf("%s: %w: its content has the digest %s", digest, ErrCorrupted, found)
	}
	return content, nil
}

// Put stores content, and returns its digest.
func (s *Store) Put(content []byte) (string, error) {
	digest := layout.Digest(content)
	if err := s.write(s.blob(digest), content); err != nil {
		return "", fmt.Errorf("storing %s: %w", digest, err)
	}
	return digest, nil
}

// write writes a file atomically. It leaves no part of the file on a full disk.
func (s *Store) write(path string, content []byte) error {
	temp, err := s.create(filepath.Dir(path), ".temp-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
