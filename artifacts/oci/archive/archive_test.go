package archive_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kopf-wasm/kopf/artifacts/oci/archive"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "modules"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filled is a store with a module and a signature of it.
func filled(t *testing.T) (*store.Store, store.Entry) {
	t.Helper()
	s := open(t)
	put := func(contents ...[]byte) {
		for _, content := range contents {
			if _, err := s.Put(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	packed, err := layout.Pack([]byte("\x00asm\x01\x00\x00\x00"), "operator.wasm", nil)
	if err != nil {
		t.Fatal(err)
	}
	put(packed.Manifest, packed.Config, packed.Module)
	e := store.Entry{Name: "example.com/op:v1", Digest: layout.Digest(packed.Manifest), Size: 8}
	signature := []byte("signature")
	raw, config, err := layout.Attach(layout.Describe(layout.MediaManifest, packed.Manifest), "application/x", []layout.Descriptor{layout.Describe("application/x", signature)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(raw, config, signature)
	for _, entry := range []store.Entry{e, {Name: "example.com/op@" + layout.Digest(raw), Digest: layout.Digest(raw), Subject: e.Digest}} {
		if err := s.Set(entry); err != nil {
			t.Fatal(err)
		}
	}
	return s, e
}

func saved(t *testing.T) []byte {
	t.Helper()
	s, e := filled(t)
	var one, two bytes.Buffer
	for _, to := range []*bytes.Buffer{&one, &two} {
		if err := archive.Save(to, s, []store.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same archive differs")
	}
	return one.Bytes()
}

func TestSaveAndLoad(t *testing.T) {
	s := open(t)
	got, err := archive.Load(bytes.NewReader(saved(t)), s)
	if err != nil {
		t.Fatal(err)
	}
	_, want := filled(t)
	ignore := cmpopts.IgnoreFields(store.Entry{}, "Pulled")
	if diff := cmp.Diff([]store.Entry{want}, got, ignore); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	attached, err := s.Attached(want.Digest)
	if err != nil || len(attached) != 1 {
		t.Fatalf("%v, %v", attached, err)
	}
	m, _, err := s.Manifest(attached[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := s.Get(m.Layers[0].Digest); err != nil || string(content) != "signature" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := s.Remove(want.Name); err != nil {
		t.Fatal(err)
	}
	if attached, err := s.Attached(want.Digest); err != nil || len(attached) > 0 {
		t.Errorf("left: %v, %v", attached, err)
	}
}

// edited is an archive with changed files; nil leaves one out.
func edited(t *testing.T, from []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(from)), tar.NewWriter(&out)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if content = change(header.Name, content); content == nil {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: header.Name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A bad archive changes nothing that the store stands for.
func TestLoadRefuses(t *testing.T) {
	good := saved(t)
	index := func(old, replacement string) []byte {
		return edited(t, good, func(name string, content []byte) []byte {
			if name == "index.json" {
				return []byte(strings.ReplaceAll(string(content), old, replacement))
			}
			return content
		})
	}
	module := layout.Digest([]byte("\x00asm\x01\x00\x00\x00"))
	blob := func(change func(content []byte) []byte) []byte {
		return edited(t, good, func(name string, content []byte) []byte {
			if strings.HasSuffix(name, module[7:]) {
				return change(content)
			}
			return content
		})
	}
	part := func(is string, becomes []byte) []byte {
		return edited(t, good, func(_ string, content []byte) []byte {
			if string(content) == is {
				return becomes
			}
			return content
		})
	}
	tests := []struct {
		name    string
		content []byte
		words   string
	}{
		{"nothing", nil, "it has no index.json"},
		{"no archive", []byte(strings.Repeat("text", 1000)), "tar"},
		{"a cut archive", good[:1600], "EOF"},
		{"a tampered module", blob(func([]byte) []byte { return []byte("\x00asm\x01\x00\x00\x01") }), "was tampered with"},
		{"a missing module", blob(func([]byte) []byte { return nil }), "not in the store"},
		{"a missing signature", part("signature", nil), "not in the store"},
		{"an index that is not JSON", index("{", ""), "index.json"},
		{"no name", index("example.com/op:v1", ""), "has an invalid name"},
		{"a name that leads elsewhere", index("example.com/op:v1", "../../op:v1"), "has an invalid name"},
		{"another size", index(`"size":`, `"size":1`), "instead of the announced"},
		{"an unknown manifest", index("sha256:", "sha256:00"), "no digest"},
		{"two indices", appended(t, good, "index.json", []byte("{}")), "more than one index.json"},
		{"a file with holes", holes(t, good), "a sparse file"},
		{"a name with another digest", index("example.com/op:v1", "example.com/op@sha256:"+strings.Repeat("0", 64)), "has the name of something else"},
		{"a name that is no name", index("example.com/op:v1", "oci://example.com/op:v1"), "has the name of something else"},
		{"a signature that takes the place of a module", index("example.com/op@"+signatureOf(t), "example.com/op:v2"), "so it cannot have this name"},
		{"a signature of a module that is elsewhere", index(`subject":"sha256:`, `subject":"sha256:0`), "which the archive does not have"},
		{"a signature in another repository", index("example.com/op@"+signatureOf(t), "example.com/other@"+signatureOf(t)), "which the archive does not have"},
		{"an index of everything", index(`"manifests":[`, `"manifests":[`+strings.Repeat("{},", 1000)), "names 1002 artifacts; at most 1000"},
	}
	for _, tt := range tests {
		s := open(t)
		got, err := archive.Load(bytes.NewReader(tt.content), s)
		if got != nil || !errors.Is(err, archive.ErrArchive) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v, error %v, want %q", tt.name, got, err, tt.words)
		}
		if entries, err := s.List(); err != nil || len(entries) > 0 {
			t.Errorf("%s: in the store: %v, %v", tt.name, entries, err)
		}
		if left, err := os.ReadDir(filepath.Join(s.Dir(), "blobs", "sha256")); err != nil || len(left) > 0 {
			t.Errorf("%s: it has left %v, %v", tt.name, left, err)
		}
	}
}

// signatureOf is the digest of the signature of filled.
func signatureOf(t *testing.T) string {
	t.Helper()
	s, e := filled(t)
	attached, err := s.Attached(e.Digest)
	if err != nil || len(attached) != 1 {
		t.Fatalf("%v, %v", attached, err)
	}
	return attached[0].Digest
}

// Loading takes time in proportion to the archive, however often its artifacts name one content.
func TestContentIsCheckedOnce(t *testing.T) {
	const size, times = 16 << 20, 12_000
	s, e := filled(t)
	big := bytes.Repeat([]byte("signature"), size/9)
	layers := slices.Repeat([]layout.Descriptor{layout.Describe("application/x", big)}, times)
	_, subject, err := s.Manifest(e.Digest)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := layout.Attach(layout.Describe(layout.MediaManifest, subject), "application/x", layers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{big, raw} {
		if _, err := s.Put(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set(store.Entry{Name: "example.com/op@" + layout.Digest(raw), Digest: layout.Digest(raw), Subject: e.Digest}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := archive.Save(&out, s, []store.Entry{e}); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error, 1)
	go func() { // Until it is loaded, or the process ends.
		_, err := archive.Load(bytes.NewReader(out.Bytes()), s)
		loaded <- err
	}()
	select {
	case err := <-loaded:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute): // reading 192 GB takes minutes
		t.Fatal("it still reads the same content")
	}
}

// Names that lead elsewhere, links and devices are not looked at.
func TestLoadIgnoresNames(t *testing.T) {
	good := saved(t)
	for name, header := range map[string]tar.Header{
		"a path above":   {Name: "../../evil", Typeflag: tar.TypeReg, Size: 4},
		"a blob above":   {Name: "blobs/../../evil", Typeflag: tar.TypeReg, Size: 4},
		"a link":         {Name: "blobs/sha256/evil", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a linked index": {Name: "index.json", Typeflag: tar.TypeLink, Linkname: "blobs/sha256/evil"},
		"a device":       {Name: "evil", Typeflag: tar.TypeChar},
	} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("evil")[:header.Size]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		s := open(t)
		if got, err := archive.Load(bytes.NewReader(append(out.Bytes(), good...)), s); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if found, err := filepath.Glob(filepath.Join(filepath.Dir(s.Dir()), "*evil*")); err != nil || found != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// appended is an archive with one more file at the end.
func appended(t *testing.T, from []byte, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(withoutEnd(from), out.Bytes()...)
}

// holes is an archive with a file of 8 GB that is nothing but holes.
func holes(t *testing.T, from []byte) []byte {
	t.Helper()
	out := appended(t, from, "blobs/sha256/x", nil)
	header := out[len(withoutEnd(from)):][:512]
	header[156] = tar.TypeGNUSparse
	copy(header[483:], "77777777777")
	copy(header[148:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return out
}

// withoutEnd cuts the empty blocks at the end of an archive.
func withoutEnd(from []byte) []byte {
	for len(from) >= 512 && len(bytes.Trim(from[len(from)-512:], "\x00")) == 0 {
		from = from[:len(from)-512]
	}
	return bytes.Clone(from)
}
