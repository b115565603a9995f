package webhooks

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

// pipes listens in memory, so that connections live in virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial connects to the server.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// servePipes runs a server with a source of certificates, nil for HTTP, until the end
// of the test. It returns the latest announcement.
func servePipes(t *testing.T, s *LocalServer, from certificates.Source, handler http.Handler) (listener *pipes, announced func() ClientConfig) {
	t.Helper()
	s.env.Log = zerolog.Nop()
	s.Insecure = from == nil
	if from == nil {
		from = certificates.Fixed{Authorities: s.givenBundle}
	}
	first, err := from.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := s.tlsConfig()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	listener = newPipes()
	configs, ended := make(chan ClientConfig, 1000), make(chan error, 1)
	go func() { // Waited for by the cleanup.
		run := &session{LocalServer: s, config: config, source: from, announce: func(c ClientConfig) { configs <- c }}
		ended <- run.serve(ctx, listener, first, handler)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server has ended with %v", err)
		}
	})
	last := <-configs
	return listener, func() ClientConfig {
		for len(configs) > 0 {
			last = <-configs
		}
		return last
	}
}
