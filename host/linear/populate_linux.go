package linear

import (
	"syscall"
	"unsafe"
)

// populateChunk is how much is requested at once, in bytes. A goroutine that changes the address
// space of the process, for another instance, waits for the request.
const populateChunk = 1 << 20

// populate lets the system provide memory now. Kernels before 5.14 cannot do that,
// and when they are out of memory they say it at the first touch.
//
// See https://man7.org/linux/man-pages/man2/madvise.2.html
func populate(b []byte) {
	const populateWrite = 23
	for len(b) > 0 {
		n := min(len(b), populateChunk)
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, uintptr(unsafe.Pointer(&b[0])), uintptr(n), populateWrite); errno != 0 {
			return
		}
		b = b[n:]
	}
}
