// Package atomicfile writes whole files: another process sees a file either as it was, or complete.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Unfinished is the ending of files that are being written. A file with this ending that is old was left by a process
// that has ended.
const Unfinished = ".temp"

// Replace writes a file atomically, with the parts one after the other as its content. It does not wait until the disk
// has the content: after a power cut, the file may be damaged. It replaces a link.
//
// Errors name the file.
func Replace(path string, mode fs.FileMode, parts ...[]byte) error {
	return naming(path, replace(path, mode, parts))
}

// Output is Replace for a path that a user has chosen. Of a link, it writes the file that the link names. A pipe or a
// device gets the content, because nothing may take its place: /dev/null of root must stay.
func Output(path string, mode fs.FileMode, parts ...[]byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return naming(path, fill(path, parts))
	}
	named, err := filepath.EvalSymlinks(path)
	if err != nil {
		named = path // there is nothing yet
	}
	return naming(path, replace(named, mode, parts))
}

// naming lets an error name the file, in place of a temporary one.
func naming(path string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		at.Path = path
	}
	return err
}

func replace(path string, mode fs.FileMode, parts [][]byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".*"+Unfinished)
	if err != nil {
		return err
	}
	err = write(temp, parts)
	err = errors.Join(err, temp.Chmod(mode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// fill writes into what is no regular file.
func fill(path string, parts [][]byte) error {
	into, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(into, parts), into.Close())
}

func write(into *os.File, parts [][]byte) error {
	for _, part := range parts {
		if _, err := into.Write(part); err != nil {
			return err
		}
	}
	return nil
}
