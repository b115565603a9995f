//go:build race

package nowait

import (
	"errors"
	"syscall"
)

// attempt makes a call of the system through package syscall, which lets the race detector know that a message is read after it was
// written: both ends are in one process in tests.
func attempt(number, descriptor uintptr, p []byte) (int, syscall.Errno) {
	do := syscall.Read
	if number == syscall.SYS_WRITE {
		do = syscall.Write
	}
	n, err := do(int(descriptor), p)
	errno, _ := errors.AsType[syscall.Errno](err)
	return max(n, 0), errno
}
