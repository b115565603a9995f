package resident

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// TestRelease: the code and the constants of the program are released, or the code alone, and it
// still runs.
func TestRelease(t *testing.T) {
	for range 3 {
		all, err := Release()
		if err != nil {
			t.Fatal(err)
		}
		code, err := ReleaseCode()
		if err != nil {
			t.Fatal(err)
		}
		if all < 1<<20 || code < 1<<19 || code >= all {
			t.Errorf("released %d and %d bytes, want the code and the constants of a test program, and its code", all, code)
		}
	}
}

func TestMappings(t *testing.T) {
	const program = "/bin/a program"
	for line, own := range map[string]bool{
		"00400000-00d00000 r-xp 00000000 fe:01 123                        /bin/a program": true,
		"00d00000-01600000 r--p 00900000 fe:01 123                        /bin/a program": true,
		"01600000-01700000 rw-p 01200000 fe:01 123                        /bin/a program": false,
		"01700000-01800000 r--s 01200000 fe:01 123                        /bin/a program": false,
		"7f0000000000-7f0000001000 r-xp 00000000 fe:01 124                /lib/library":   false,
		"7f0000001000-7f0000002000 r--p 00000000 00:00 0 ":                                false,
	} {
		if m, ok := parse(line, program); !ok || m.own != own || m.end <= m.start || m.code != strings.Contains(line, "r-xp") {
			t.Errorf("%s: got %+v, %t", line, m, ok)
		}
	}
	for _, line := range []string{"", "Rss:                4096 kB", "VmFlags: rd ex mr mw me "} {
		if _, ok := parse(line, program); ok {
			t.Errorf("%q is taken for a mapping", line)
		}
	}
	if found, err := unchanged("/bin/another", false); err != nil || slices.ContainsFunc(found, func(m mapping) bool { return m.own }) {
		t.Errorf("of another program: got %v, %v", found, err)
	}
}

// TestPrivatePages: a page of a file that was written to, as by a debugger that sets a
// breakpoint, is seen among pages that were only read.
func TestPrivatePages(t *testing.T) {
	const pages = 600 // more than one read of the page map
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, pages*os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, pages*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(memory) }()
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer pagemap.Close()
	start := uintptr(unsafe.Pointer(&memory[0]))
	m := mapping{start: start, end: start + uintptr(len(memory))}
	for at := 0; at < len(memory); at += os.Getpagesize() {
		if memory[at] != 0 {
			t.Fatal("the file is not empty")
		}
	}
	if private, err := hasPrivatePages(pagemap, m); err != nil || private {
		t.Errorf("pages that were read: %t, %v; want none that is private", private, err)
	}
	memory[len(memory)-1] = 1
	if private, err := hasPrivatePages(pagemap, m); err != nil || !private {
		t.Errorf("a page that was written: %t, %v; want a private one", private, err)
	}
}
