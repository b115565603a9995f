package hostile_test

import (
	"net/http"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
)

// gates are what the registry does in place of an answer, by the tag or the digest that is asked for.
type gates struct {
	waiting atomic.Int64 // requests that hang

	mu       sync.Mutex // guards the fields below
	hanging  map[string]int
	private  map[string]string
	moving   map[string][]string
	requests map[string]int
}

// newGates are open.
func newGates() *gates {
	return &gates{hanging: map[string]int{}, private: map[string]string{}, moving: map[string][]string{}, requests: map[string]int{}}
}

// hang lets a blob of a size be announced, and never sent.
func (g *gates) hang(digest string, size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hanging[digest] = size
}

// lock demands a password for a tag or a digest.
func (g *gates) lock(name, password string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.private[name] = password
}

// move lets a tag name other manifests at each request.
func (g *gates) move(tag string, digests ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moving[tag] = digests
}

// asked is how often a tag or a digest was asked for.
func (g *gates) asked(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[name]
}

// ServeHTTP answers a request, or leaves it to the registry.
func (g *gates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	g.mu.Lock()
	size, hangs := g.hanging[name]
	password, locked := g.private[name]
	targets := g.moving[name]
	if len(targets) > 0 {
		r.URL.Path = path.Join(path.Dir(r.URL.Path), targets[g.requests[name]%len(targets)])
	}
	g.requests[name]++
	g.mu.Unlock()
	if _, given, _ := r.BasicAuth(); locked && given != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, http.StatusUnauthorized)
		return
	}
	if hangs {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client may be gone
		if r.Method == http.MethodGet {
			g.waiting.Add(1)
			<-r.Context().Done()
			g.waiting.Add(-1)
		}
	}
}
