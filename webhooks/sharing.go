package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/webhooks/crowd"
)

// maxShared bounds the bodies and answers of all operators of a server, in bytes. Those of one namespace have at most half of it.
const maxShared = 512 << 20

// Shared is one server for several operators. Each has a path of its own.
//
// # Guarantees
//
//   - A path without an operator answers 404.
//   - The requests of one operator cannot use up the slots of another one: each operator has
//     a Handler with slots and memory of its own, and a bound of requests that wait.
//   - All bodies and answers together are bounded, from the bytes that have come until the handler
//     has ended. When that memory is full, the client with the most of it loses its oldest one: a
//     client cannot lock out others, nor the operators of others.
//   - Operators of one namespace, whose paths differ in the last part only, have at most half of that
//     memory, and a quarter of the connections for requests that are handled: their handlers can be
//     slow, and the API server is one client, which has half of the connections.
type Shared struct {
	server Server
	env    Environment
	memory *crowd.Memory // of the bodies and answers of all operators
	most   int           // requests of one namespace that are handled at the same time

	mu      sync.Mutex // guards the fields below
	parts   map[string]*part
	longest int           // bytes of the longest path of a part so far
	config  *ClientConfig // the latest one; nil before the first one
	ended   chan struct{} // closed when the server has ended
}

// NewShared makes a shared server. The environment is that of the host. Run serves.
func NewShared(server Server, env Environment) *Shared {
	return &Shared{
		server: bind(server, env), env: env, memory: crowd.NewMemory(maxShared), most: max(cmp.Or(env.Connections.Total, conns.DefaultTotal)/4, 1),
		parts: map[string]*part{}, ended: make(chan struct{}),
	}
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
	path      string
	namespace string // the path without its last part
	common    *common
	handler   http.Handler
	announce  func(ClientConfig)
}

// common is what the operators of one namespace have together.
type common struct {
	memory *crowd.Memory
	slots  *crowd.Slots // for requests that are handled: their connections are never closed
}

// take waits until one more request of the namespace may be handled. A nil common has no limit.
//
// Errors: crowd.ErrSlots.
func (c *common) take(ctx context.Context, from netip.Prefix) (give func(), err error) {
	if c == nil {
		return func() {}, nil
	}
	return c.slots.Take(ctx, from, 1)
}

// errTaken is the error of a second operator at the same path.
var errTaken = errors.New("another operator serves at this path")

// Serve serves the operator until the context ends, or until the server has ended.
func (p portion) Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error {
	s := p.shared
	own := &part{path: p.path, namespace: p.path[:max(strings.LastIndex(p.path, "/"), 0)], handler: http.StripPrefix(p.path, handler), announce: announce}
	s.mu.Lock()
	if s.parts[p.path] != nil {
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", p.path, errTaken)
	}
	own.common = s.commonFor(own.namespace)
	s.parts[p.path], s.longest = own, max(s.longest, len(p.path))
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

// commonFor returns what the operators of a namespace have together. The caller holds the lock.
func (s *Shared) commonFor(namespace string) *common {
	for _, p := range s.parts {
		if p.namespace == namespace {
			return p.common
		}
	}
	return &common{memory: s.memory.Half(), slots: crowd.NewSlots(s.most, s.most)}
}

// ServeHTTP passes a request to the operator of its path.
func (s *Shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := s.find(r.URL.Path)
	if p == nil {
		refuse(w, http.StatusNotFound, "no operator serves this path")
		return
	}
	p.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), commonKey{}, p.common)))
}

// commonKey is the key of what is common to the operators of a namespace, in the contexts of their requests.
type commonKey struct{}

// commonOf returns what the operator of a request has in common with others; nil without a shared server.
func commonOf(ctx context.Context) *common {
	c, _ := ctx.Value(commonKey{}).(*common)
	return c
}

// sharedOf returns the memory that the operator of a request shares with others; nil without a shared server.
func sharedOf(ctx context.Context) *crowd.Memory {
	if c := commonOf(ctx); c != nil {
		return c.memory
	}
	return nil
}

func refuse(w http.ResponseWriter, code int, text string) {
	http.Error(w, fmt.Sprintf("%d: %s", code, text), code)
}

// find finds the operator of a path; nil if there is none.
func (s *Shared) find(path string) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range path[:min(len(path), s.longest+1)] { // longer beginnings are of no part, and cost quadratic time
		if i > 0 && path[i] == '/' {
			if p := s.parts[path[:i]]; p != nil {
				return p
			}
		}
	}
	return nil
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
