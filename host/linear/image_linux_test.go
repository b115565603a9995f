//go:build linux && (amd64 || arm64)

package linear

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"unsafe"
)

// TestImageOfAScatteredMemory: an image has the pages that were written to, alone and in a row,
// and making it touches none of the others.
func TestImageOfAScatteredMemory(t *testing.T) {
	const pages = 1024
	m, err := Reserve(pages*pageSize, pages*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	contents := m.Reallocate(pages * pageSize)
	for _, page := range []int{0, 7, 8, 9, 500, pages - 1} {
		contents[page*pageSize+page] = byte(page + 1)
	}
	contents[100*pageSize] = 0 // touched, but empty
	before := touched(t, contents)
	image, err := NewImage(contents)
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if after := touched(t, contents); after != before {
		t.Errorf("%d pages are in use, %d before", after, before)
	}
	clone, err := image.Clone(pages * pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Free()
	if !bytes.Equal(clone.Reallocate(pages*pageSize), contents) {
		t.Error("the clone differs from the memory")
	}
}

// TestImageOfAClone: most of its pages are those of the first image, and were not touched in the clone.
func TestImageOfAClone(t *testing.T) {
	contents := bytes.Repeat([]byte{1, 2, 3, 4}, 16*pageSize/4)
	clear(contents[5*pageSize : 6*pageSize])
	first, err := NewImage(contents)
	if err != nil {
		t.Fatal(err)
	}
	clone, err := first.Clone(32 * pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer clone.Free()
	grown := clone.Reallocate(20 * pageSize)
	grown[7*pageSize], grown[18*pageSize] = 99, 98
	second, err := NewImageOfClone(grown)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Clone(32 * pageSize); !errors.Is(err, ErrClosed) {
		t.Errorf("a clone of a closed image: error %v", err)
	}
	copied, err := second.Clone(32 * pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Free()
	if !bytes.Equal(copied.Reallocate(20*pageSize), grown) {
		t.Error("the copy differs from the clone")
	}
}

// TestImageWithoutPagemap: where the system does not describe the pages of a process, all of them
// are read.
func TestImageWithoutPagemap(t *testing.T) {
	contents := make([]byte, 4*pageSize)
	contents[2*pageSize] = 1
	file, err := memfd()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if written, err := fill(file, contents, unknown); err != nil || written != pageSize {
		t.Fatalf("%d bytes were written, %v", written, err)
	}
	filled := make([]byte, len(contents))
	if _, err := file.ReadAt(filled, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(filled, contents) {
		t.Error("the file differs from the memory")
	}
}

// touched counts the pages of a memory that were touched.
func touched(t *testing.T, contents []byte) (pages int) {
	t.Helper()
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	entries := make([]byte, len(contents)/pageSize*pagemapEntry)
	if _, err := file.ReadAt(entries, int64(uintptr(unsafe.Pointer(&contents[0]))/pageSize*pagemapEntry)); err != nil {
		t.Fatal(err)
	}
	for ; len(entries) > 0; entries = entries[pagemapEntry:] {
		if binary.LittleEndian.Uint64(entries) != 0 {
			pages++
		}
	}
	return pages
}
