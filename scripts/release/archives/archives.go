// Package archives writes archives whose bytes depend on their content alone: not on the machine, the user or the order
// of files in a folder.
package archives

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Entry is a file or a folder of an archive.
type Entry struct {
	// Path is relative, with slashes.
	Path string

	// Content is that of a file; nil for a folder.
	Content []byte

	// Mode has the permissions, and fs.ModeDir for a folder.
	Mode fs.FileMode

	// Owner is the number of the user and of the group. Zip files have none.
	Owner int
}

// Tar writes the entries, sorted by their paths, with this time of change.
func Tar(to io.Writer, entries []Entry, changed time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range sorted(entries) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.Path, Size: int64(len(e.Content)), Mode: int64(e.Mode.Perm()),
			Uid: e.Owner, Gid: e.Owner, ModTime: changed.UTC().Truncate(time.Second), Format: tar.FormatPAX,
		}
		if e.Mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, e.Path+"/"
		}
		if e.Mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		if _, err := w.Write(e.Content); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return w.Close()
}

// TarGzip is Tar, compressed.
func TarGzip(to io.Writer, entries []Entry, changed time.Time) error {
	w := gzip.NewWriter(to) // its header has no time and no name
	if err := Tar(w, entries, changed); err != nil {
		return err
	}
	return w.Close()
}

// Zip writes the entries, sorted by their paths, with this time of change. It is for Windows, so it keeps no owners.
func Zip(to io.Writer, entries []Entry, changed time.Time) error {
	w := zip.NewWriter(to)
	for _, e := range sorted(entries) {
		header := &zip.FileHeader{Name: e.Path, Method: zip.Deflate, Modified: changed.UTC().Truncate(2 * time.Second)}
		header.SetMode(e.Mode)
		if e.Mode.IsDir() {
			header.Name += "/"
		}
		part, err := w.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		if _, err := part.Write(e.Content); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return w.Close()
}

// Read returns the files and folders below a folder as entries with the permissions 0644 and 0755.
func Read(folder, prefix string) ([]Entry, error) {
	var entries []Entry
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil || relative == "." {
			return err
		}
		e := Entry{Path: prefix + filepath.ToSlash(relative), Mode: 0o644}
		if entry.IsDir() {
			e.Mode = fs.ModeDir | 0o755
		} else if e.Content, err = os.ReadFile(path); err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

func sorted(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
}
