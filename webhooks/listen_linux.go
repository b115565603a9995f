package webhooks

import (
	"syscall"
)

// deferAccept lets the system keep new connections until their first bytes arrive, for a
// second at most. Floods of connections that send nothing then cost the server nothing.
//
// Source: tcp(7), TCP_DEFER_ACCEPT.
func deferAccept(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 1) // only an optimization
	})
}
