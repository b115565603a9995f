package nowait

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Conn returns a connection that reads and writes the socket of one of package net. It returns other connections as they are,
// since they may do more with what they read and write.
//
// Its errors are those of package net.
func Conn(c net.Conn) net.Conn {
	switch c.(type) {
	case *net.TCPConn:
	case *net.UnixConn:
		if c.LocalAddr().Network() != "unix" {
			return c // datagrams have bounds, which writes in parts would move
		}
	default:
		return c
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return c
	}
	s := &socket{Conn: c, raw: raw, in: half{number: syscall.SYS_READ}, out: half{number: syscall.SYS_WRITE}}
	s.in.try, s.out.try = s.in.once, s.out.once
	return s
}

// socket is a connection of package net.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	in, out half
}

// SyscallConn returns the socket of the system.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// NetConn returns the connection of package net.
func (s *socket) NetConn() net.Conn { return s.Conn }

// half is one direction of a connection. Its function is made once, as one that is made for each call would be allocated.
type half struct {
	number uintptr // of the call of the system
	try    func(descriptor uintptr) bool

	mu    sync.Mutex // for the fields below, and one call at a time
	p     []byte
	n     int
	errno syscall.Errno
}

// once makes the call. It reports whether it is over; if not, the poller waits until the socket is ready.
func (h *half) once(descriptor uintptr) bool {
	h.n, h.errno = call(h.number, descriptor, h.p)
	return h.errno != syscall.EAGAIN
}

// Read reads what has arrived at a socket of package net, by its descriptor.
//
// Errors: those of the system; syscall.EAGAIN if nothing has arrived.
func Read(descriptor uintptr, p []byte) (int, error) {
	n, errno := call(syscall.SYS_READ, descriptor, p)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// call reads or writes, without waiting if the descriptor is that of a socket of package net. It continues after signals.
func call(number, descriptor uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, errno := attempt(number, descriptor, p)
		switch errno {
		case 0:
			return n, 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// Read reads what has arrived, and waits for it.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return s.Conn.Read(p)
	}
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	n, err := s.run("read", p, &s.in, s.raw.Read)
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, err
}

// Write writes all of it.
func (s *socket) Write(p []byte) (written int, err error) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for written < len(p) {
		n, err := s.run("write", p[written:], &s.out, s.raw.Write)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// run makes one call when the socket is ready.
func (s *socket) run(name string, p []byte, h *half, when func(func(uintptr) bool) error) (int, error) {
	h.p, h.n, h.errno = p, 0, 0
	err := when(h.try)
	h.p = nil
	if err == nil && h.errno == 0 {
		return h.n, nil
	}
	failed := &net.OpError{Op: name, Net: s.LocalAddr().Network(), Source: s.LocalAddr(), Addr: s.RemoteAddr()}
	if known, ok := errors.AsType[*net.OpError](err); ok {
		failed.Err = known.Err
	} else if failed.Err = err; err == nil {
		failed.Err = os.NewSyscallError(name, h.errno)
	}
	return 0, failed
}
