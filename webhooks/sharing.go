package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Bounds of a shared server.
const (
	maxRequests = 128       // of one operator at the same time, including those that wait for slots
	maxShared   = 512 << 20 // bytes of the bodies of all operators, as their headers announce them
	unannounced = 8 << 20   // bytes that a body without an announced size counts
)

// Shared is one server for several operators. Each has a path of its own.
//
// # Guarantees
//
//   - A path without an operator answers 404.
//   - The requests of one operator cannot use up the slots of another one: each operator has
//     a Handler with slots and memory of its own, and a bound of requests that have come.
type Shared struct {
	server Server
	env    Environment

	mu     sync.Mutex // guards the fields below
	parts  map[string]*part
	config *ClientConfig // the latest one; nil before the first one
	ended  chan struct{} // closed when the server has ended
	used   int64         // bytes of bodies
}

// NewShared makes a shared server. The environment is that of the host. Run serves.
func NewShared(server Server, env Environment) *Shared {
	return &Shared{server: bind(server, env), env: env, parts: map[string]*part{}, ended: make(chan struct{})}
}

// Run serves until the context ends. An error says what could not start or continue.
func (s *Shared) Run(ctx context.Context) error {
	defer close(s.ended)
	return s.server.Serve(ctx, s, s.announce)
}

// announce passes a client config on to all operators.
func (s *Shared) announce(config ClientConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = &config
	for _, p := range s.parts {
		p.announce(config.below(p.path))
	}
}

// Part returns the server of one operator, with a path like /operators/team/mailer. No path
// may begin with another one. Only one operator can serve at a path at the same time.
func (s *Shared) Part(path string) Server { return portion{s, path} }

// portion is the Server of one operator.
type portion struct {
	shared *Shared
	path   string
}

// part is an operator that serves.
type part struct {
	path     string
	handler  http.Handler
	announce func(ClientConfig)
	requests chan struct{} // has a slot for each request
}

// errTaken is the error of a second operator at the same path.
var errTaken = errors.New("another operator serves at this path")

// Serve serves the operator until the context ends, or until the server has ended.
func (p portion) Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error {
	s := p.shared
	own := &part{p.path, http.StripPrefix(p.path, handler), announce, make(chan struct{}, maxRequests)}
	s.mu.Lock()
	if s.parts[p.path] != nil {
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", p.path, errTaken)
	}
	s.parts[p.path] = own
	if s.config != nil {
		announce(s.config.below(p.path))
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.parts, p.path)
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-s.ended:
		return errEnded
	}
}

// ServeHTTP passes a request to the operator of its path.
func (s *Shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := s.find(r.URL.Path)
	if p == nil {
		refuse(w, http.StatusNotFound, "no operator serves this path")
		return
	}
	size := r.ContentLength
	if size < 0 {
		size = unannounced
	}
	if !s.take(size) {
		refuse(w, http.StatusServiceUnavailable, "incoming reviews need too much memory")
		return
	}
	defer s.give(size)
	select {
	case p.requests <- struct{}{}:
		defer func() { <-p.requests }()
		p.handler.ServeHTTP(w, r)
	default:
		refuse(w, http.StatusServiceUnavailable, "too many reviews of this operator are under way")
	}
}

func refuse(w http.ResponseWriter, code int, text string) {
	http.Error(w, fmt.Sprintf("%d: %s", code, text), code)
}

// find finds the operator of a path; nil if there is none.
func (s *Shared) find(path string) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range path {
		if i > 0 && path[i] == '/' {
			if p := s.parts[path[:i]]; p != nil {
				return p
			}
		}
	}
	return nil
}

func (s *Shared) take(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > maxShared {
		return false
	}
	s.used += size
	return true
}

func (s *Shared) give(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= size
}

// below returns the client config of a path of the server.
func (c ClientConfig) below(path string) ClientConfig {
	if c.URL != nil {
		full := strings.TrimRight(*c.URL, "/") + path
		c.URL = &full
	}
	if c.Service != nil {
		service := *c.Service
		if service.Path != nil {
			path = strings.TrimRight(*service.Path, "/") + path
		}
		service.Path = &path
		c.Service = &service
	}
	return c
}
