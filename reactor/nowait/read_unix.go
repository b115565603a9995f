//go:build unix && !linux

package nowait

import (
	"errors"
	"syscall"
)

// Read reads what has arrived at a socket of package net, by its descriptor.
//
// Errors: those of the system; syscall.EAGAIN if nothing has arrived.
func Read(descriptor uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(descriptor), p); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
