// Package places follows the namespaces of a cluster, with one watch for all operators of a
// host, and selects some of them by names and labels.
package places

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// Pauses after failed requests.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Places are the namespaces of a cluster. They are watched while Run runs, from the first
// selection on. It is safe for concurrent use.
type Places struct {
	client dynamic.ResourceInterface
	log    zerolog.Logger
	wanted chan struct{} // closed at the first selection
	want   func()

	mu      sync.Mutex // guards the fields below
	known   map[string]labels.Set
	listed  bool          // known is complete
	failure error         // of the last attempt before that
	changed chan struct{} // closed and replaced when a field above has changed
}

// New makes places. The configuration is that of the host, which needs the verbs list and
// watch for namespaces.
func New(config *rest.Config, log zerolog.Logger) (*Places, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the host: %w", err)
	}
	return newPlaces(client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), log), nil
}

func newPlaces(client dynamic.ResourceInterface, log zerolog.Logger) *Places {
	p := &Places{client: client, log: log.With().Str("logger", "kopf.hosting").Logger(), wanted: make(chan struct{}), known: map[string]labels.Set{}, changed: make(chan struct{})}
	p.want = sync.OnceFunc(func() { close(p.wanted) })
	return p
}

// Run follows the namespaces until the context ends.
func (p *Places) Run(ctx context.Context) {
	select {
	case <-p.wanted:
	case <-ctx.Done():
		return
	}
	for pauses := (backoffs.Doubling{First: firstPause, Most: lastPause}); ; {
		began := time.Now()
		err := p.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pauses.Reset()
		}
		p.change(func() { p.failure = err })
		p.log.Warn().Err(err).Msg("The namespaces cannot be watched; the host tries again.")
		if backoffs.Pause(ctx, pauses.Next()) != nil {
			return
		}
	}
}

// change changes the fields, and wakes all that wait.
func (p *Places) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	close(p.changed)
	p.changed = make(chan struct{})
}

// listAndWatch follows the namespaces until a watch fails.
func (p *Places) listAndWatch(ctx context.Context) error {
	known := map[string]labels.Set{}
	version, err := apiserver.List(ctx, p.client, func(o *unstructured.Unstructured) { known[o.GetName()] = o.GetLabels() })
	if err != nil {
		return err
	}
	p.change(func() { p.known, p.listed, p.failure = known, true, nil })
	return apiserver.Follow(ctx, p.client, version, apiserver.Watcher{
		Changed: func(o *unstructured.Unstructured) { p.change(func() { p.known[o.GetName()] = o.GetLabels() }) },
		Deleted: func(o *unstructured.Unstructured) { p.change(func() { delete(p.known, o.GetName()) }) },
	})
}

// Match selects a namespace.
type Match func(name string, labels map[string]string) bool

// Selection is a part of the places.
type Selection struct {
	places *Places
	match  Match
}

// Select makes a selection. The places are watched from now on.
func (p *Places) Select(match Match) *Selection {
	p.want()
	return &Selection{p, match}
}

// state is what is known about a selection.
type state struct {
	names   []string // that are selected, sorted
	listed  bool     // the names are complete
	failure error    // why they are not yet
	changed <-chan struct{}
}

// now returns the present state.
func (s *Selection) now() state {
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(p.known)) {
		if s.match(name, p.known[name]) {
			names = append(names, name)
		}
	}
	return state{names, p.listed, p.failure, p.changed}
}

// Names returns the namespaces that are selected now, sorted.
func (s *Selection) Names() []string {
	return s.now().names
}

// Exists reports whether a namespace exists, selected or not.
func (s *Selection) Exists(name string) bool {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	_, exists := s.places.known[name]
	return exists
}

// Wait waits until the namespaces are known.
//
// Errors: why the host cannot list them; the end of the context.
func (s *Selection) Wait(ctx context.Context) error {
	for {
		state := s.now()
		if state.listed || state.failure != nil {
			return state.failure
		}
		select {
		case <-state.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Follow passes the names to serve, now and after each change, until the context ends.
func (s *Selection) Follow(ctx context.Context, serve func(names []string)) error {
	var last []string
	for {
		state := s.now()
		if state.listed && (last == nil || !slices.Equal(last, state.names)) {
			last = state.names
			serve(state.names)
		}
		select {
		case <-state.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
