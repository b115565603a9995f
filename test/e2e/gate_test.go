package e2e_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// gate is an address of a server that can be reached only when it is open.
type gate struct {
	address string // of the gate
	server  string // host and port
	done    sync.WaitGroup
}

// newGate makes a closed one: connections to it are refused.
func newGate(t *testing.T, server string) *gate {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return &gate{address: closedPort(t), server: target.Host}
}

func (g *gate) url() string { return "https://" + g.address }

// open lets connections through until the test ends.
func (g *gate) open(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	g.done.Go(func() { // Waited for by the clean-up below.
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.done.Go(func() { g.pass(conn) }) // Waited for likewise: ends with its connection.
		}
	})
	t.Cleanup(func() {
		listener.Close()
		g.done.Wait()
	})
}

// pass copies in both directions until one of them ends.
func (g *gate) pass(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		return
	}
	defer server.Close()
	g.done.Go(func() {
		defer conn.Close()
		_, _ = io.Copy(conn, server)
	})
	_, _ = io.Copy(server, conn)
}

// repeated is a list of equal pauses, in milliseconds.
func repeated(milliseconds, count int) []time.Duration {
	pauses := make([]time.Duration, count)
	for i := range pauses {
		pauses[i] = time.Duration(milliseconds) * time.Millisecond
	}
	return pauses
}
