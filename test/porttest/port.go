// Package porttest chooses ports for tests that name a port before a program listens on it, or that need one on which no program listens.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// These are the chosen ports. They are below those that Linux, macOS and Windows choose for connections and for listeners of the port
// 0. A port that the system has chosen for one test can be chosen for another one when the first test has closed it.
const (
	first  = 12_000
	number = 8000
)

// given are the ports that this process has chosen.
var given sync.Map

// Unused returns a host and a port of the loopback interface, on which no program listens. It returns each port once.
func Unused(t testing.TB) (address string) {
	t.Helper()
	for range 100 {
		port := first + rand.N(number)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return listener.Addr().String()
	}
	t.Fatal("all ports are taken")
	return ""
}
