package e2e_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/test/porttest"
)

// gate is an address of a server that can be reached only when it is open.
type gate struct {
	address string // of the gate
	server  string // host and port
	running sync.WaitGroup
}

// newGate makes a closed one: connections to it are refused.
func newGate(t *testing.T, server string) *gate {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return &gate{address: porttest.Unused(t), server: target.Host}
}

func (g *gate) url() string { return "https://" + g.address }

// open lets connections through until the test ends.
func (g *gate) open(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	context.AfterFunc(ctx, func() { listener.Close() })
	g.running.Go(func() { // Waited for by the clean-up below.
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.running.Go(func() { g.pass(ctx, conn) }) // Waited for by the clean-up below.
		}
	})
	t.Cleanup(func() {
		cancel()
		g.running.Wait()
	})
}

// pass copies in both directions until one side ends, or the context does.
func (g *gate) pass(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", g.server)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		conn.Close()
		server.Close()
	})
	defer stop()
	g.running.Go(func() { // Waited for by the clean-up of open.
		defer conn.Close()
		_, _ = io.Copy(conn, server) // however it ends
	})
	_, _ = io.Copy(server, conn) // however it ends
}
