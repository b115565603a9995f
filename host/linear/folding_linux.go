//go:build linux && (amd64 || arm64)

package linear

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"
)

// A clone that nobody uses for a while is folded: only what differs from its image is
// kept, behind the memory, and the pages that were its own are given back. After a call
// most of a page is what it was before, or what the call has left behind.

// Bounds of folding: larger memories, and those that differ in more, stay as they are.
const (
	foldable     = 16 << 20 // bytes of the memory
	foldedPages  = 64       // that are its own
	foldedRoom   = (foldedPages + 2) * pageSize
	pageSize     = 4 << 10 // where pages are larger, nothing is folded
	pagemapEntry = 8
)

// openPagemap opens what the system tells about the pages of the process; nil if it does not.
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

// Fold makes the memory small, if it is a clone that differs little from its image: its
// contents must not be looked at before Unfold.
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
		m.image = nil // they never get fewer
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
		m.clearRoom() // nothing is won
		return
	}
	m.folded = len(d.out)
	discard(m.buf[own[0] : own[len(own)-1]+pageSize]) // what lies between is as the image has it
}

// Unfold makes a folded memory usable again.
func (m *Memory) Unfold() {
	if m.folded > 0 {
		apply(m.buf, m.buf[m.committed:m.committed+m.folded])
		m.folded = 0 // the room stays for the next time: the system takes longer to provide it than to fold
	}
}

// openRoom makes what lies behind the memory usable: the guest cannot reach it.
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

// nothing is what a memory has beyond its image.
var nothing [pageSize]byte

// imagePage is what the image has in the place of a page.
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
