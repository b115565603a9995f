//go:build linux && (amd64 || arm64)

package linear

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Supported says whether the system has images.
const Supported = true

// The system's description of the process's pages.
//
// See https://docs.kernel.org/admin-guide/mm/pagemap.html
const (
	pageSize     = 4 << 10 // of systems with larger pages, the description is not read
	pagemapEntry = 8
)

// Image is the contents of a memory, to be cloned. It lies in a file without a name.
type Image struct {
	size   int
	stored int // bytes of it that are not holes

	mu   sync.RWMutex // guards file
	file *os.File     // nil after Close
}

// NewImage copies a memory, whose size is a multiple of that of a page. It must not be a mapped
// file: pages that were never touched are taken for empty.
//
// Errors: ErrUnsupported, also for an empty one; those of the system.
func NewImage(contents []byte) (*Image, error) { return image(contents, untouched(contents)) }

// NewImageOfClone is NewImage for the memory of a clone, which is a mapped file.
func NewImageOfClone(contents []byte) (*Image, error) { return image(contents, unknown) }

func image(contents []byte, empty func(page int) bool) (*Image, error) {
	if len(contents) == 0 {
		return nil, ErrUnsupported
	}
	file, err := memfd()
	if err != nil {
		return nil, err
	}
	stored, err := fill(file, contents, empty)
	if err != nil {
		return nil, fmt.Errorf("memory image: %w", errors.Join(err, file.Close()))
	}
	return &Image{file: file, size: len(contents), stored: stored}, nil
}

// memfd makes a file in memory.
//
// See https://man7.org/linux/man-pages/man2/memfd_create.2.html
func memfd() (*os.File, error) {
	const closeOnExec = 1
	name := append([]byte("kopf"), 0)
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name[0])), closeOnExec, 0)
	runtime.KeepAlive(name)
	switch errno {
	case 0:
		return os.NewFile(fd, "memory image"), nil
	case syscall.ENOSYS, syscall.EPERM: // an old kernel, or a filter of system calls
		return nil, ErrUnsupported
	}
	return nil, fmt.Errorf("memory image: %w", errno)
}

// fill writes the pages that are not empty; the others stay holes. It does not look at pages that
// are known to be empty: that would touch them.
func fill(file *os.File, contents []byte, known func(page int) bool) (written int, err error) {
	if err := file.Truncate(int64(len(contents))); err != nil {
		return 0, err
	}
	size := os.Getpagesize()
	empty := make([]byte, size)
	isEmpty := func(at int) bool {
		page := contents[at:min(at+size, len(contents))]
		return known(at/size) || bytes.Equal(page, empty[:len(page)])
	}
	for at := 0; at < len(contents); at += size {
		begin := at
		for at < len(contents) && !isEmpty(at) {
			at += size
		}
		if at == begin {
			continue
		}
		n, err := file.WriteAt(contents[begin:min(at, len(contents))], int64(begin))
		if err != nil {
			return 0, err
		}
		written += n
	}
	return written, nil
}

// unknown knows of no page that it is empty.
func unknown(int) bool { return false }

// untouched reports of each page of a memory whether it was never touched, as far as the system
// says so. Such a page is empty.
func untouched(contents []byte) func(page int) bool {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(contents)))
	if os.Getpagesize() != pageSize || start%pageSize != 0 {
		return unknown
	}
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return unknown
	}
	defer pagemap.Close()
	entries := make([]byte, len(contents)/pageSize*pagemapEntry)
	if _, err := pagemap.ReadAt(entries, int64(start/pageSize*pagemapEntry)); err != nil {
		return unknown
	}
	return func(page int) bool {
		at := page * pagemapEntry
		return at < len(entries) && binary.LittleEndian.Uint64(entries[at:]) == 0
	}
}

// Size is the number of bytes of the image.
func (i *Image) Size() int { return i.size }

// Stored is the number of bytes of the image that take memory: empty pages do not.
func (i *Image) Stored() int { return i.stored }

// Clone makes a memory that begins as the image and can grow up to max bytes.
//
// Errors: ErrClosed; ErrMappings; those of the system.
func (i *Image) Clone(max int) (*Memory, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.file == nil {
		return nil, ErrClosed
	}
	m, err := reserve(0, max, mappingsOfMemory()+mappingsOfClone)
	if err != nil {
		return nil, err
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&m.buf[0])), uintptr(i.size),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_FIXED, i.file.Fd(), 0)
	if errno != 0 {
		m.Free()
		return nil, fmt.Errorf("mapping the memory image: %w", errno)
	}
	m.committed, m.populated = i.size, i.size
	if i.size > LazyImage {
		populate(m.buf[LazyImage:i.size])
	}
	return m, nil
}

// Close gives the image back. Clones of it stay, and it makes no further ones. It may be called once.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	err := i.file.Close()
	i.file = nil
	return err
}
