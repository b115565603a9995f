package nowait

import (
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostAtOnce is how much a pipe takes without waiting if it takes anything: PIPE_BUF, see pipe(7).
const mostAtOnce = 4096

// File returns a writer to a file: to a pipe, a socket, a terminal, or a file on a disk. It writes what the file takes without
// waiting, and hands other writes, and long ones, to package os.
//
// Pipes and sockets take writes that do not wait, and files on disks never say that a write would. Others, such as terminals, are
// asked first: if another process fills one between the question and the write, the write waits as every other one does, but it
// keeps a processor of Go's scheduler meanwhile.
func File(f *os.File) io.Writer {
	raw, err := f.SyscallConn()
	if err != nil {
		return f
	}
	info, err := f.Stat()
	onDisk := err == nil && info.Mode().IsRegular()
	w := &file{File: f, raw: raw, onDisk: onDisk, asked: onDisk}
	w.try = w.once
	return w
}

type file struct {
	*os.File
	raw    syscall.RawConn
	try    func(descriptor uintptr)
	onDisk bool

	mu    sync.Mutex // for the fields below, and one write at a time
	p     []byte
	n     int
	asked bool // the file does not take writes that do not wait
	part  unix.Iovec
}

// once writes if the file takes it now. Errors are left to package os, which meets them again.
func (f *file) once(descriptor uintptr) {
	if !f.asked {
		f.part.Base = unsafe.SliceData(f.p)
		f.part.SetLen(len(f.p))
		const end = ^uintptr(0) // the present offset
		n, _, errno := syscall.RawSyscall6(unix.SYS_PWRITEV2, descriptor, uintptr(unsafe.Pointer(&f.part)), 1, end, end, unix.RWF_NOWAIT)
		f.part.Base = nil
		if errno == 0 {
			f.n = int(n)
			return
		}
		if errno == syscall.EAGAIN || errno == syscall.EINTR {
			return
		}
		f.asked = true // it is of another kind, or the system is old
	}
	if f.onDisk || isReady(descriptor) {
		f.n, _ = call(unix.SYS_WRITE, descriptor, f.p)
	}
}

// Write writes all of it.
func (f *file) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > mostAtOnce {
		return f.File.Write(p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.p, f.n = p, 0
	_ = f.raw.Control(f.try) // a file that is closed is left to package os, which says so
	f.p = nil
	if f.n == len(p) {
		return len(p), nil
	}
	rest, err := f.File.Write(p[f.n:])
	return f.n + rest, err
}

// isReady reports whether a write would not wait.
func isReady(descriptor uintptr) bool {
	asked := unix.PollFd{Fd: int32(descriptor), Events: unix.POLLOUT}
	var now unix.Timespec
	ready, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&asked)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno == 0 && ready == 1 && asked.Revents == unix.POLLOUT
}
