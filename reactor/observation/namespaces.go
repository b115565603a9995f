package observation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Territory selects the namespaces that an operator serves. It is safe for concurrent use.
type Territory interface {
	// Names returns the present namespaces.
	Names() []string

	// Exists reports whether a namespace exists, also if the operator does not serve it.
	Exists(name string) bool

	// Follow passes the namespaces to serve, first and after each change, until the context
	// ends. It returns the error of the context.
	Follow(ctx context.Context, serve func(names []string)) error
}

// ObserveNamespaces serves the namespaces that match the patterns, and follows their
// changes until the context ends. It then calls ended, maybe after it has returned.
func (o *Observer) ObserveNamespaces(ctx context.Context, ended func(error)) {
	if o.Territory != nil {
		ended(o.Territory.Follow(ctx, func(names []string) { o.Orchestrator.serveNamespaces(ctx, append([]string{}, names...)) }))
		return
	}
	exact := append([]string{}, o.Namespaces.Exact()...)
	switch {
	case len(o.Namespaces) == 0:
		o.Orchestrator.serveNamespaces(ctx, nil)
		idle(ctx, ended)
		return
	case !o.Scanning:
		o.Orchestrator.serveNamespaces(ctx, exact)
		idle(ctx, ended)
		return
	}
	sink := &namespaceSink{observer: o, ctx: ctx, names: map[string]string{}}
	stream, err := o.stream(&Namespaces)
	if err != nil {
		ended(err)
		return
	}
	stream.Keep = func(meta watching.Meta) bool { return o.Namespaces.Match(meta.Name) }
	if !o.isPermitted(ctx, stream.Path, fmt.Sprintf("Not enough permissions to list namespaces. "+
		"Falling back to a list of namespaces which are assumed to exist: %s", strings.Join(exact, ", "))) {
		if len(exact) > 0 {
			o.Orchestrator.serveNamespaces(ctx, exact)
		}
		idle(ctx, ended)
		return
	}
	o.supervised(ctx, stream, &Namespaces, sink, ended)
}

// namespaceSink keeps the set of namespaces that match the patterns.
type namespaceSink struct {
	observer *Observer
	ctx      context.Context   // the observer's context, because sinks get none
	names    map[string]string // their keys by name: see watching.Meta
	listed   bool
}

// Listed serves all listed namespaces. The first time, it warns of those that do not exist, as an
// operator that handles nothing would be all that a wrong name causes.
func (s *namespaceSink) Listed() {
	again := s.listed
	s.listed = true
	s.serve()
	if again {
		return
	}
	for _, name := range s.observer.Namespaces.Exact() {
		if _, exists := s.names[name]; !exists {
			s.observer.Log.Warn().Msg(fmt.Sprintf("There is no namespace %s: it is served as soon as it is created.", name))
		}
	}
}

func (s *namespaceSink) serve() {
	s.observer.Orchestrator.serveNamespaces(s.ctx, append([]string{}, slices.Sorted(maps.Keys(s.names))...))
}

// Event follows one namespace. A namespace that is being deleted stays until it is gone:
// its objects may wait for their finalizers. A deletion that the watch has missed may come
// after the creation of another namespace with the same name.
func (s *namespaceSink) Event(event watching.Event) {
	name, key := event.Meta.Name, event.Meta.Key()
	present, served := s.names[name]
	switch {
	case event.Type == watching.Deleted:
		if present == key {
			delete(s.names, name)
		}
	case s.observer.Namespaces.Match(name) && !isTerminated(event.Object):
		s.names[name] = key
	}
	if _, serves := s.names[name]; s.listed && served != serves {
		s.serve()
	}
}

// isTerminated reports whether a namespace is being deleted and has no finalizers.
func isTerminated(object []byte) bool {
	var namespace struct {
		Metadata struct {
			DeletionTimestamp *string `json:"deletionTimestamp"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(object, &namespace) != nil || namespace.Metadata.DeletionTimestamp == nil {
		return false
	}
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == "True" {
			return false
		}
	}
	return len(namespace.Status.Conditions) > 0
}
