//go:build !linux

package webhooks

import "syscall"

// deferAccept does nothing: see the version for Linux.
func deferAccept(_, _ string, _ syscall.RawConn) error { return nil }
