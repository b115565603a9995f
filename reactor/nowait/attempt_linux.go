//go:build !race

package nowait

import (
	"syscall"
	"unsafe"
)

// attempt makes a call of the system, without a word to Go's scheduler.
func attempt(number, descriptor uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(number, descriptor, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
