//go:build linux && (amd64 || arm64)

package linear

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"
)

// A clone that is not used for a while is folded: the memory keeps only the differences from
// its image, in the room behind it, and returns its private pages to the system. After a
// call, most bytes of a private page equal the image or the result of the call.

// Limits of folding. Larger memories, and those with more differences, are not folded.
const (
	foldable     = 16 << 20 // size of the memory in bytes
	foldedPages  = 64       // private pages
	foldedRoom   = (foldedPages + 2) * pageSize
	pageSize     = 4 << 10 // systems with larger pages do not fold
	pagemapEntry = 8
)

// openPagemap opens the system's description of the process's pages, or returns nil.
func openPagemap() *os.File {
	if os.Getpagesize() != pageSize {
		return nil
	}
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	return file
}

// Fold reduces the memory of a clone that differs little from its image. The contents must
// not be accessed before Unfold.
func (m *Memory) Fold() {
	if m.image == nil || m.folded > 0 {
		return
	}
	m.image.mu.RLock()
	defer m.image.mu.RUnlock()
	if m.image.contents == nil {
		return // it is closed
	}
	own, ok := m.ownPages()
	if !ok {
		m.image = nil // a clone with too many private pages never has fewer
		return
	}
	if len(own) < 2 || !m.openRoom() {
		return
	}
	d := differences{out: m.buf[m.committed : m.committed : m.committed+foldedRoom]}
	for _, page := range own {
		d.add(page, m.buf[page:page+pageSize], m.imagePage(page))
	}
	m.used = max(m.used, len(d.out))
	if (len(d.out)+pageSize-1)/pageSize >= len(own) {
		m.clearRoom() // folding saves nothing
		return
	}
	m.folded = len(d.out)
	discard(m.buf[own[0] : own[len(own)-1]+pageSize]) // the pages between them equal the image
}

// Unfold makes a folded memory usable again.
func (m *Memory) Unfold() {
	if m.folded > 0 {
		apply(m.buf, m.buf[m.committed:m.committed+m.folded])
		m.folded = 0 // the room is kept, because mapping it again takes longer than folding
	}
}

// openRoom makes the room behind the memory accessible. The guest cannot reach it.
func (m *Memory) openRoom() bool {
	if m.room == m.committed {
		return true
	}
	if open(m.buf[m.committed:m.committed+foldedRoom]) != nil {
		return false
	}
	m.room = m.committed
	return true
}

// nothing is a page beyond the image: zeros.
var nothing [pageSize]byte

// imagePage returns the image's page at an index.
func (m *Memory) imagePage(page int) []byte {
	if page < m.image.size {
		return m.image.contents[page : page+pageSize]
	}
	return nothing[:]
}

// clearRoom forgets what differed.
func (m *Memory) clearRoom() {
	room := m.buf[m.committed : m.committed+m.used]
	if m.used = 0; !discard(room) {
		clear(room)
	}
}

// ownPages finds the addresses of the pages that the memory does not share with its image;
// false if there are too many.
//
// See https://docs.kernel.org/admin-guide/mm/pagemap.html
func (m *Memory) ownPages() (own []int, ok bool) {
	const present, swapped, shared = 1 << 63, 1 << 62, 1 << 61
	if m.committed > foldable || m.image.pagemap == nil {
		return nil, false
	}
	entries := make([]byte, m.committed/pageSize*pagemapEntry)
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(m.buf)))) / pageSize * pagemapEntry
	if _, err := m.image.pagemap.ReadAt(entries, at); err != nil {
		return nil, false
	}
	for page := 0; len(entries) > 0; page += pageSize {
		if e := binary.LittleEndian.Uint64(entries); e&(present|swapped) != 0 && e&shared == 0 {
			if own = append(own, page); len(own) > foldedPages {
				return nil, false
			}
		}
		entries = entries[pagemapEntry:]
	}
	return own, true
}

// discard gives pages back: those of an image are its again, the others zero. If the
// system refuses that, they stay as they are.
func discard(pages []byte) bool {
	return len(pages) == 0 || syscall.Madvise(pages, syscall.MADV_DONTNEED) == nil
}
