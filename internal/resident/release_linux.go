package resident

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// mapping is a part of the address space, as /proc/self/smaps describes it.
type mapping struct {
	start, end uintptr
	own        bool // it shows the program file, and cannot be written
}

func release() (bytes uint64, err error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, fmt.Errorf("finding the program file: %w", err)
	}
	parts, err := unchanged(program)
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

// unchanged returns the mappings of the program file that cannot be written, and of which no
// page was replaced by a private one.
func unchanged(program string) ([]mapping, error) {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil, fmt.Errorf("reading the mappings of the process: %w", err)
	}
	defer file.Close()
	var found []mapping
	var current mapping
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Bytes()
		if isHead(line) {
			current = mapping{}
			if bytes.HasSuffix(line, []byte(program)) {
				current, _ = parse(string(line), program)
			}
			continue
		}
		if anonymous, ok := bytes.CutPrefix(line, []byte("Anonymous:")); ok && current.own && string(bytes.TrimSpace(anonymous)) == "0 kB" {
			found = append(found, current)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the mappings of the process: %w", err)
	}
	return found, nil
}

// isHead reports whether a line of smaps begins a mapping. The other lines begin with the name
// of a field, which is capitalised.
func isHead(line []byte) bool {
	return len(line) > 0 && strings.IndexByte("0123456789abcdef", line[0]) >= 0
}

// parse reads the head of a mapping: "400000-d00000 r-xp 00000000 fe:01 123 /bin/program".
func parse(line, program string) (m mapping, ok bool) {
	var permissions, offset, device, inode string
	if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &m.start, &m.end, &permissions, &offset, &device, &inode); n < 6 {
		return mapping{}, false
	}
	m.own = strings.HasSuffix(line, " "+program) && strings.HasPrefix(permissions, "r") && permissions[1] == '-' && permissions[3] == 'p'
	return m, true
}
