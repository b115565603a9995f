package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// porter stands before the API server: it lets requests with the accepted tokens
// through, as the administrator, and refuses all others with 401.
type porter struct {
	url string

	mu       sync.Mutex // guards all below
	accepted []string
	refused  map[string]int // requests by their headers
}

func (s space) porter(t *testing.T, accepted ...string) *porter {
	t.Helper()
	target, err := url.Parse(s.RESTConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	p := &porter{accepted: accepted, refused: map[string]int{}}
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Authorization") },
		Transport: transport, FlushInterval: -1,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.lets(r.Header.Get("Authorization")) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p.url = server.URL
	return p
}

func (p *porter) lets(header string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.accepted, header) {
		return true
	}
	p.refused[header]++
	return false
}

// accept lets these headers through, and no others any more.
func (p *porter) accept(headers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted = headers
}

// refusals is how often requests with a header were refused.
func (p *porter) refusals(header string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[header]
}
