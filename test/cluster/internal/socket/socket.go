// Package socket binds the port of the API server in the parent, so that no other
// process can take it in between; and clients that come early wait in the socket's queue
// instead of being refused.
package socket

import (
	"fmt"
	"net"
	"os"
)

// Listen binds the wanted port, or else the last one if it is free, or else
// any. It returns the socket as a file, to be inherited by the API server.
func Listen(wanted, last int) (socket *os.File, port int, err error) {
	var listener *net.TCPListener
	if wanted == 0 && last != 0 {
		listener, err = bind(last)
	}
	if listener == nil {
		listener, err = bind(wanted)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("port of the API server: %w", err)
	}
	defer listener.Close() // the file is a copy
	socket, err = listener.File()
	if err != nil {
		return nil, 0, fmt.Errorf("port of the API server: %w", err)
	}
	return socket, listener.Addr().(*net.TCPAddr).Port, nil
}

func bind(port int) (*net.TCPListener, error) {
	return net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}
