// Package private checks that folders and files are their owner's alone: what they hold is
// believed, so no other user of the machine may have written it.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrShared refuses what another user owns or can write to.
var ErrShared = errors.New("other users can write to it")

// Folder makes a folder with its parents (mode 0700), or checks one that is there.
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

// ReadFile reads a regular file, and follows no link.
//
// Errors: ErrShared.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Lstat(path) // the folder is private: nothing takes its place meanwhile
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
