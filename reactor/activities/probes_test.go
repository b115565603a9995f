package activities

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// TestProbesAmongManyClients checks that 300 clients that ask, and 300 that send nothing,
// do not evict the client whose probes run. A later client gets an answer too.
func TestProbesAmongManyClients(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	began, release := make(chan struct{}), make(chan struct{})
	runs := 0
	p := &prober{path: "/healthz", busy: make(chan struct{}, 1), log: func(message string) { t.Error(message) }, run: func(ctx context.Context) (*Result, error) {
		runs++
		close(began)
		select {
		case <-release:
			return &Result{Results: map[string]any{"probe": "fine"}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	server := conns.Server(p)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(conns.New(conns.Small).Listener(listener)) }() // It is waited for below.
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() string {
		rsp, err := client.Get("http://" + address + "/healthz")
		if err != nil {
			return err.Error()
		}
		defer rsp.Body.Close()
		text, err := io.ReadAll(rsp.Body)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(text))
	}
	first := make(chan string, 1)
	go func() { first <- ask() }() // It is waited for below.
	<-began
	for i := range 600 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i < 300 {
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // the connection may be closed already
		}
	}
	close(release)
	const want = `{"probe":"fine"}`
	if got := <-first; got != want {
		t.Errorf("the first client is answered %s, want %s", got, want)
	}
	if got := ask(); got != want {
		t.Errorf("the last client is answered %s, want %s", got, want)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if runs != 1 {
		t.Errorf("the probes ran %d times", runs)
	}
}

// TestProbesWithoutAPath: a URL without a path is that of the root, which clients ask for then.
func TestProbesWithoutAPath(t *testing.T) {
	endpoint := "http://" + porttest.Unused(t)
	serve, err := Liveness(endpoint, func(context.Context) (*Result, error) { return &Result{Results: map[string]any{}}, nil }, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { serve(ctx); close(ended) }() // It is waited for below.
	rsp, err := http.Get(endpoint)           //nolint:noctx // it is answered at once
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK {
		t.Errorf("the answer is %s", rsp.Status)
	}
	cancel()
	<-ended
}
