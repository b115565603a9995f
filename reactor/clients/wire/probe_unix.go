//go:build unix

package wire

import (
	"errors"
	"io"
	"syscall"

	"github.com/kopf-wasm/kopf/reactor/nowait"
)

// canProbe says whether sockets can be read without waiting.
const canProbe = true

// readNow reads what has arrived.
//
// Errors: errNothing; those of the system.
func (s *socket) readNow(p []byte) (n int, err error) {
	failed := s.raw.Read(func(descriptor uintptr) bool {
		n, err = nowait.Read(descriptor, p)
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case errors.Is(err, syscall.EAGAIN):
		return 0, errNothing
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
