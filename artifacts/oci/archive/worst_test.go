package archive_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci/archive"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// header is the header of one file as it stands in an archive, whatever the library for writing thinks of it.
func header(kind byte, name string, size int64) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[136:], "00000000000\x00")
	h[156] = kind
	copy(h[257:], "ustar  \x00")
	return sealed(h)
}

// sealed writes the sum of a header.
func sealed(h []byte) []byte {
	copy(h[148:], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// file is a file with its header and its padding.
func file(kind byte, name, content string) []byte {
	out := append(header(kind, name, int64(len(content))), content...)
	return append(out, make([]byte, (512-len(content)%512)%512)...)
}

// pax returns this many bytes of different records.
func pax(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		record := fmt.Sprintf(" %05x=\n", i)
		fmt.Fprintf(&b, "%d%s", len(record)+2, record)
	}
	return b.String()
}

// holey is the header of a sparse file with this many blocks that describe its holes.
func holey(blocks int) []byte {
	h := header(tar.TypeGNUSparse, "index.json", 0)
	copy(h[386:], strings.Repeat("00000000000\x00", 8))
	h[482] = 1
	out := sealed(h)
	block := make([]byte, 512)
	for i := range 42 {
		copy(block[i*12:], "00000000001\x00")
	}
	block[504] = 1
	return append(out, bytes.Repeat(block, blocks)...)
}

// TestWorstArchives: extended headers with as many records as possible, and headers upon headers, cost most.
func TestWorstArchives(t *testing.T) {
	const size = 16 << 20
	fill := func(parts ...[]byte) []byte {
		part := bytes.Join(parts, nil)
		return bytes.Repeat(part, size/len(part))
	}
	empty, big := header(tar.TypeReg, "x", 0), strings.Repeat("x", 1<<19)
	index := func(part string) []byte {
		return file(tar.TypeReg, "index.json", `{"manifests":[`+strings.TrimSuffix(strings.Repeat(part, 4_000_000/len(part)), ",")+`]}`)
	}
	huge := header(tar.TypeReg, "blobs/sha256/x", 1<<33-1)
	base256 := header(tar.TypeReg, "blobs/sha256/x", 0)
	copy(base256[124:], "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff")
	for name, content := range map[string][]byte{
		"records":                     fill(file(tar.TypeXHeader, "x", pax(1<<20-100)), empty),
		"records without a file":      fill(file(tar.TypeXHeader, "x", pax(1<<20-100))),
		"small records":               fill(file(tar.TypeXHeader, "x", pax(400)), empty),
		"global records":              fill(file(tar.TypeXGlobalHeader, "x", pax(1<<20-100))),
		"records that are too large":  fill(file(tar.TypeXHeader, "x", pax(1<<20+100)), empty),
		"a long record":               fill(file(tar.TypeXHeader, "x", fmt.Sprintf("%d path=%s\n", 1<<19+13, big)), empty),
		"records of a sparse file":    fill(file(tar.TypeXHeader, "x", "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"), file(tar.TypeReg, "index.json", "999999999\n"+strings.Repeat("0\n", 1<<19))),
		"an old map of a sparse file": fill(file(tar.TypeXHeader, "x", fmt.Sprintf("29 GNU.sparse.numblocks=100\n%d GNU.sparse.map=%s\n", 1<<19+20, strings.Repeat("0,", 1<<18))), empty),
		"long names":                  fill(file(tar.TypeGNULongName, "x", big), empty),
		"names upon names":            fill(file(tar.TypeGNULongName, "x", big)),
		"short names upon names":      fill(file(tar.TypeGNULongName, "x", "x")),
		"a long name of a blob":       fill(file(tar.TypeGNULongName, "x", "blobs/sha256/\x1b[2J"+big), empty),
		"a long name with holes":      append(file(tar.TypeGNULongName, "x", "\x1b[2J"+big), holey(1)...),
		"long links":                  fill(file(tar.TypeGNULongLink, "x", big), empty),
		"holes":                       append(holey(size/512), empty...),
		"files with holes":            fill(holey(100)),
		"empty files":                 fill(empty),
		"empty blobs":                 fill(header(tar.TypeReg, "blobs/sha256/x", 0)),
		"a blob that is announced":    append(huge, make([]byte, 1<<20)...),
		"a blob of 2^63 bytes":        append(sealed(base256), make([]byte, 1<<20)...),
		"a blob of another digest":    file(tar.TypeReg, "blobs/sha256/x", strings.Repeat("x", size)),
		"a large index":               file(tar.TypeReg, "index.json", strings.Repeat(" ", size)),
		"an index of everything":      index(`{},`),
		"an index of nothing":         index(`null,`),
		"an index of annotations":     index(`{"annotations":{"a":"b"}},`),
		"a nested index":              index(`[`),
		"links":                       fill(header(tar.TypeSymlink, "index.json", 0)),
	} {
		s := open(t)
		boundedtest.Parse(t, name, content, func(content []byte) error {
			_, err := archive.Load(bytes.NewReader(content), s)
			if err == nil || len(err.Error()) > 2000 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: error %.200v", name, err)
			}
			return err
		})
	}
}
