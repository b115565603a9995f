// Package private checks that directories and files belong to their user alone. Their
// content is trusted, so no other user of the machine may be able to write it.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrShared says that another user owns a file or can write to it.
var ErrShared = errors.New("other users can write to it")

// Folder creates a directory with its parents (mode 0700), or checks an existing one.
//
// Errors: ErrShared.
func Folder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	return check(dir, info)
}

// ReadFile reads a regular file. It does not follow links.
//
// Errors: ErrShared.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Lstat(path) // the directory is private, so no other user can replace the file
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func check(path string, info fs.FileInfo) error {
	if !owned(info) {
		return fmt.Errorf("%w: %s belongs to another user", ErrShared, path)
	}
	if mode := info.Mode(); mode.Perm()&0o022 != 0 {
		return fmt.Errorf("%w: %s (%v): remove it, or make it private with chmod go-w", ErrShared, path, mode)
	}
	return nil
}
