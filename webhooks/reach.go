package webhooks

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// reach is what API servers may ask an operator with a scope about: the present namespaces, those of
// the configurations in the cluster, and for a moment those that these had before.
type reach struct {
	scope *Scope

	mu      sync.Mutex // guards the fields below
	written []string   // in the configurations
	leaving map[string]time.Time
}

func newReach(s *Scope) *reach { return &reach{scope: s, leaving: map[string]time.Time{}} }

// covers reports whether API servers may ask about a namespace now.
func (r *reach) covers(namespace string, now time.Time) bool {
	if slices.Contains(r.scope.names(), namespace) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.written, namespace) || now.Before(r.leaving[namespace])
}

// wrote notes the namespaces of the configurations, once they are written.
func (r *reach) wrote(names []string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.leaving, func(_ string, until time.Time) bool { return !now.Before(until) })
	for _, name := range r.written {
		if !slices.Contains(names, name) {
			r.leaving[name] = now.Add(exitDelay)
		}
	}
	r.written = names
}

// isWritten reports whether the configurations have these namespaces.
func (r *reach) isWritten(names []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Equal(r.written, names)
}
