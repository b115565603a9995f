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
// has the content: after a power cut, the file may be damaged.
func Replace(path string, mode fs.FileMode, parts ...[]byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".*"+Unfinished)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = temp.Write(part)
		}
	}
	err = errors.Join(err, temp.Chmod(mode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
