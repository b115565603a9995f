package resident

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// mapping is a part of the address space, as /proc/self/maps describes it.
type mapping struct {
	start, end uintptr
	own        bool // it shows the program file, and cannot be written
	code       bool // it is executable
}

func release(onlyCode bool) (bytes uint64, err error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, fmt.Errorf("finding the program file: %w", err)
	}
	parts, err := unchanged(program, onlyCode)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, m := range parts {
		size := m.end - m.start
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, size, syscall.MADV_DONTNEED); errno != 0 {
			errs = append(errs, fmt.Errorf("releasing %d bytes of the program: %w", size, errno))
			continue
		}
		bytes += uint64(size)
	}
	return bytes, errors.Join(errs...)
}

// unchanged returns the mappings of the program file, or of its code, that cannot be written, and
// of which no page was replaced by a private one.
//
// The system's summary of a mapping (/proc/self/smaps) would say so, too. But it looks at the
// pages of all mappings, the heap included, which takes longer than the release.
func unchanged(program string, onlyCode bool) ([]mapping, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("reading the mappings of the process: %w", err)
	}
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, fmt.Errorf("reading the pages of the process: %w", err)
	}
	defer pages.Close()
	var found []mapping
	for line := range strings.Lines(string(maps)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasSuffix(line, program) {
			continue
		}
		m, ok := parse(line, program)
		if !ok || !m.own || onlyCode && !m.code {
			continue
		}
		changed, err := hasPrivatePages(pages, m)
		if err != nil {
			return nil, err
		}
		if !changed {
			found = append(found, m)
		}
	}
	return found, nil
}

// Bits of an entry of /proc/self/pagemap.
//
// See https://docs.kernel.org/admin-guide/mm/pagemap.html
const (
	ofFile  = 1 << 61 // the page is one of a file, or shared
	swapped = 1 << 62
	present = 1 << 63
)

// hasPrivatePages reports whether pages of a file's mapping were replaced by private ones.
func hasPrivatePages(pagemap io.ReaderAt, m mapping) (bool, error) {
	const entry = 8 // bytes
	pageSize := uintptr(os.Getpagesize())
	var some [512 * entry]byte
	for page, end := m.start/pageSize, m.end/pageSize; page < end; {
		entries := some[:min(end-page, uintptr(len(some)/entry))*entry]
		if _, err := pagemap.ReadAt(entries, int64(page)*entry); err != nil {
			return false, fmt.Errorf("reading the pages of the process: %w", err)
		}
		page += uintptr(len(entries) / entry)
		for ; len(entries) > 0; entries = entries[entry:] {
			if bits := binary.NativeEndian.Uint64(entries); bits&(present|swapped) != 0 && bits&ofFile == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// parse reads a line of /proc/self/maps: "400000-d00000 r-xp 00000000 fe:01 123 /bin/program".
func parse(line, program string) (m mapping, ok bool) {
	var permissions, offset, device, inode string
	if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &m.start, &m.end, &permissions, &offset, &device, &inode); n < 6 {
		return mapping{}, false
	}
	m.code = strings.Contains(permissions, "x")
	m.own = strings.HasSuffix(line, " "+program) && strings.HasPrefix(permissions, "r") && permissions[1] == '-' && permissions[3] == 'p'
	return m, true
}
