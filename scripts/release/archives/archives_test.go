package archives_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
)

var (
	when    = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	entries = []archives.Entry{
		{Path: "b/file", Content: []byte("text"), Mode: 0o755, Owner: 7},
		{Path: "a", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
)

type format func(io.Writer, []archives.Entry, time.Time) error

// TestArchivesDependOnTheirContentAlone: the order of the entries and the zone of the time do not matter.
func TestArchivesDependOnTheirContentAlone(t *testing.T) {
	for name, write := range map[string]format{"tar": archives.Tar, "gzip": archives.TarGzip, "zip": archives.Zip} {
		var one, two bytes.Buffer
		turned := slices.Clone(entries)
		slices.Reverse(turned)
		if err := errors.Join(write(&one, entries, when), write(&two, turned, when.In(time.FixedZone("", 3600)))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: the archives differ", name)
		}
	}
}

func TestTarsKeepModesAndOwners(t *testing.T) {
	var packed bytes.Buffer
	if err := archives.TarGzip(&packed, entries, when); err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(unpacked)
	folder, err := r.Next()
	if err != nil || folder.Name != "a/" || folder.Mode != 0o1777 || folder.Typeflag != tar.TypeDir {
		t.Errorf("the folder: %+v, %v", folder, err)
	}
	file, err := r.Next()
	if err != nil || file.Name != "b/file" || file.Mode != 0o755 || file.Uid != 7 || file.Gid != 7 || !file.ModTime.Equal(when) {
		t.Errorf("the file: %+v, %v", file, err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "text" {
		t.Errorf("the content: %q, %v", content, err)
	}
}

func TestZipsCanBeRead(t *testing.T) {
	var packed bytes.Buffer
	if err := archives.Zip(&packed, entries, when); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	content, err := fs.ReadFile(r, "b/file")
	if err != nil || string(content) != "text" || !r.File[1].Modified.Equal(when) {
		t.Errorf("%q, %v", content, err)
	}
}
