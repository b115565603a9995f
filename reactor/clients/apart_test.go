package clients

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// streaming is a server over TLS whose responses begin and do not end, unless its refusal is set.
type streaming struct {
	mu      sync.Mutex // guards the fields below
	major   []int      // of the protocols of the requests
	refusal int        // the status; 0: none
}

func (s *streaming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.major = append(s.major, r.ProtoMajor)
	refusal := s.refusal
	s.mu.Unlock()
	if refusal != 0 {
		w.WriteHeader(refusal)
		return
	}
	_, _ = io.WriteString(w, "x")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (s *streaming) asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.major)
}

func (s *streaming) refuse(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = status
}

func stream(t *testing.T, options Options) (*Client, *streaming) {
	t.Helper()
	s := &streaming{}
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
	return New(credentials.Of(credentials.Info{Config: config}), func() Options { return options }, func(string) {}), s
}

// Some streams have connections of their own, over HTTP/1.1; further ones share one, over HTTP/2.
// The end of a stream, and failed attempts, leave their place to another one.
func TestStreamsApart(t *testing.T) {
	c, server := stream(t, Options{})
	server.refuse(http.StatusNotFound)
	for range 2 * maxApart {
		if _, err := c.StreamApart(t.Context(), "/x", nil, Hooks{}); err == nil {
			t.Fatal("a refused stream has no error")
		}
	}
	server.refuse(0)
	var open []io.ReadCloser
	var want []int
	for range 2 * maxApart {
		want = append(want, 1)
	}
	for i := range maxApart + 2 {
		body, err := c.StreamApart(t.Context(), "/x", nil, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, body)
		if want = append(want, 1); i >= maxApart {
			want[len(want)-1] = 2
		}
	}
	open[0].Close()
	open[0].Close()
	for _, major := range []int{1, 2} {
		body, err := c.StreamApart(t.Context(), "/x", nil, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		open, want = append(open, body), append(want, major)
	}
	if got := server.asked(); !slices.Equal(got, want) {
		t.Errorf("protocols %v, want %v", got, want)
	}
	for _, body := range open {
		body.Close()
	}
}

// Streams do not stay apart if lists and watches have a time of their own for connecting.
func TestStreamsWithAConnectTimeout(t *testing.T) {
	c, server := stream(t, Options{ConnectTimeout: time.Minute, WatchConnectTimeout: time.Hour})
	body, err := c.StreamApart(t.Context(), "/x", nil, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	if got := server.asked(); !slices.Equal(got, []int{2}) {
		t.Errorf("protocols %v", got)
	}
}
