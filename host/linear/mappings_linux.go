package linear

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// maxMapCount is how many mappings a process may have; 0 if the system does not say.
//
// See https://docs.kernel.org/admin-guide/sysctl/vm.html#max-map-count
func maxMapCount() int64 { return numberIn("/proc/sys/vm/max_map_count") }

// reservesOpen reports whether memory can be reserved readable and writable, without being accounted before it is
// touched: not where the system accounts for all memory (vm.overcommit_memory is 2).
//
// A reservation of one kind is one mapping, however much of it is in use; one whose end cannot be accessed is two.
var reservesOpen = numberIn("/proc/sys/vm/overcommit_memory") != 2

func numberIn(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// withoutHugePages lets the system provide small pages only: a clone that touches one byte of a large reservation would
// take 2 MiB. Systems without huge pages refuse that, which changes nothing.
func withoutHugePages(b []byte) {
	const noHugePage = 15
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), noHugePage)
}
