//go:build unix && !linux

package nowait

import "syscall"

// Read reads what has arrived at a socket of package net, by its descriptor.
//
// Errors: those of the system; syscall.EAGAIN if nothing has arrived.
func Read(descriptor uintptr, p []byte) (int, error) { return syscall.Read(int(descriptor), p) }
