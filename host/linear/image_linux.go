//go:build linux && (amd64 || arm64)

package linear

import (
	"bytes"
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

// NewImage copies a memory, whose size is a multiple of that of a page.
//
// Errors: ErrUnsupported, also for an empty one; ErrMappings.
func NewImage(contents []byte) (*Image, error) {
	if len(contents) == 0 {
		return nil, ErrUnsupported
	}
	if err := takeMappings(mappingsOfImage); err != nil {
		return nil, err
	}
	image, err := newImage(contents)
	if err != nil {
		giveMappings(mappingsOfImage)
	}
	return image, err
}

func newImage(contents []byte) (*Image, error) {
	file, err := memfd()
	if err != nil {
		return nil, err
	}
	if err := fill(file, contents); err != nil {
		file.Close()
		return nil, fmt.Errorf("memory image: %w", err)
	}
	view, err := syscall.Mmap(int(file.Fd()), 0, len(contents), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("memory image: %w", err)
	}
	return &Image{file: file, size: len(contents), pagemap: openPagemap(), contents: view}, nil
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

// fill writes the pages that are not empty; the others stay holes.
func fill(file *os.File, contents []byte) error {
	if err := file.Truncate(int64(len(contents))); err != nil {
		return err
	}
	empty := make([]byte, os.Getpagesize())
	for at := 0; at < len(contents); at += len(empty) {
		page := contents[at:min(at+len(empty), len(contents))]
		if bytes.Equal(page, empty[:len(page)]) {
			continue
		}
		if _, err := file.WriteAt(page, int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// Size is the number of bytes of the image.
func (i *Image) Size() int { return i.size }

// Clone makes a memory that begins as the image and can grow up to max bytes.
//
// Errors: ErrMappings; those of the system.
func (i *Image) Clone(max int) (*Memory, error) {
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

// Close gives the image back. Clones of it stay. It may be called once.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	err := errors.Join(i.file.Close(), syscall.Munmap(i.contents))
	i.contents = nil
	giveMappings(mappingsOfImage)
	if i.pagemap != nil {
		err = errors.Join(err, i.pagemap.Close())
	}
	return err
}
