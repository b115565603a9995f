//go:build !linux

package nowait

import (
	"io"
	"net"
	"os"
)

// Conn returns the connection.
func Conn(c net.Conn) net.Conn { return c }

// File returns the file.
func File(f *os.File) io.Writer { return f }
