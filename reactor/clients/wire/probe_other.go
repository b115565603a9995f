//go:build !unix

package wire

// canProbe says whether sockets can be read without waiting. New does without this package
// where they cannot.
const canProbe = false

func (s *socket) readNow([]byte) (int, error) { return 0, errNothing }
