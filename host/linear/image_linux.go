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

// Image is the contents of a memory, to be cloned. It lies in a file without a name.
type Image struct {
	file    *os.File
	size    int
	pagemap *os.File // nil: clones are not folded

	mu       sync.RWMutex // guards contents
	contents []byte       // read-only; nil after Close
}

// NewImage copies a memory, whose size is a multiple of that of a page. It must not be a mapped
// file: pages that were never touched are taken for empty.
//
// Errors: ErrUnsupported, also for an empty one; ErrMappings.
func NewImage(contents []byte) (*Image, error) { return image(contents, false) }

// NewImageOfClone is NewImage for the memory of a clone, which is a mapped file.
func NewImageOfClone(contents []byte) (*Image, error) { return image(contents, true) }

func image(contents []byte, mapped bool) (*Image, error) {
	if len(contents) == 0 {
		return nil, ErrUnsupported
	}
	if err := takeMappings(mappingsOfImage); err != nil {
		return nil, err
	}
	image, err := newImage(contents, mapped)
	if err != nil {
		giveMappings(mappingsOfImage)
	}
	return image, err
}

func newImage(contents []byte, mapped bool) (*Image, error) {
	file, err := memfd()
	if err != nil {
		return nil, err
	}
	image := &Image{file: file, size: len(contents), pagemap: openPagemap()}
	pagemap := image.pagemap
	if mapped {
		pagemap = nil // it does not say which pages are empty
	}
	err = fill(file, contents, untouched(pagemap, contents))
	if err == nil {
		image.contents, err = syscall.Mmap(int(file.Fd()), 0, len(contents), syscall.PROT_READ, syscall.MAP_SHARED)
	}
	if err != nil {
		return nil, fmt.Errorf("memory image: %w", errors.Join(err, image.closeFiles()))
	}
	return image, nil
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
func fill(file *os.File, contents []byte, known func(page int) bool) error {
	if err := file.Truncate(int64(len(contents))); err != nil {
		return err
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
		if _, err := file.WriteAt(contents[begin:min(at, len(contents))], int64(begin)); err != nil {
			return err
		}
	}
	return nil
}

// untouched reports of each page of a memory whether it was never touched, as far as the system
// says so. Such a page is empty.
func untouched(pagemap *os.File, contents []byte) func(page int) bool {
	unknown := func(int) bool { return false }
	start := uintptr(unsafe.Pointer(unsafe.SliceData(contents)))
	if pagemap == nil || start%pageSize != 0 {
		return unknown
	}
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

// Clone makes a memory that begins as the image and can grow up to max bytes.
//
// Errors: ErrClosed; ErrMappings; those of the system.
func (i *Image) Clone(max int) (*Memory, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.contents == nil {
		return nil, ErrClosed
	}
	m, err := reserve(0, max+foldedRoom, mappingsOfMemory()+mappingsOfClone)
	if err != nil {
		return nil, err
	}
	m.max, m.image = max, i
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
	err := errors.Join(i.closeFiles(), syscall.Munmap(i.contents))
	i.contents = nil
	giveMappings(mappingsOfImage)
	return err
}

func (i *Image) closeFiles() error {
	err := i.file.Close()
	if i.pagemap != nil {
		err = errors.Join(err, i.pagemap.Close())
	}
	return err
}
