package watching

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// State is the known state of one stream of an operator.
type State struct {
	Health
	Resource  string // as plural.version.group
	Namespace string // empty: the whole cluster
	Purpose   Purpose
	Paused    bool // paused by other operators: the stream need not work
	Dead      bool // the stream has ended unexpectedly
}

// Broken reports whether the stream can no longer deliver anything.
func (s State) Broken(now time.Time) bool { return s.Dead || !s.Paused && s.Stalled(now) }

// Delivering reports whether changes of objects arrive, or need not arrive.
func (s State) Delivering(now time.Time) bool {
	return !s.Dead && (s.Paused || s.Delivers(now))
}

// Purpose is what an operator watches a resource for. It may watch one for several purposes.
type Purpose string

// These are the purposes.
const (
	ForHandlers Purpose = "handlers" // its objects are handled
	ForScope    Purpose = "scope"    // which resources and namespaces there are
	ForPeers    Purpose = "peers"    // which other operators there are
)

// Set holds the streams of an operator, so that their states can be read. The zero value
// is empty.
type Set struct {
	mu      sync.Mutex // guards the fields below
	items   map[*Supervised]bool
	lacking []string
}

// Supervised is a stream of a set.
type Supervised struct {
	Stream    *Stream
	Resource  string
	Namespace string
	Purpose   Purpose
	Paused    func() bool // nil: the stream never pauses
	dead      bool
}

// Supervise keeps a stream in the set while it runs. A stream that ends before its
// context, for any reason, counts as dead from then on.
func (s *Set) Supervise(ctx context.Context, item *Supervised, run func()) {
	defer s.Enter(ctx, item)()
	run()
}

// Enter is Supervise for streams whose run has no goroutine at times: the caller calls leave at
// the end of the run.
func (s *Set) Enter(ctx context.Context, item *Supervised) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[*Supervised]bool{}
	}
	s.items[item] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if item.dead = ctx.Err() == nil; !item.dead {
			delete(s.items, item)
		}
	}
}

// Lack notes why the set lacks streams: texts about resources that cannot be served.
func (s *Set) Lack(why []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacking = why
}

// Lacking returns what Lack has noted last. It must not be changed.
func (s *Set) Lacking() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacking
}

// States returns the current states of all streams, sorted by name.
func (s *Set) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]State, 0, len(s.items))
	for item := range s.items {
		states = append(states, State{
			Health: item.Stream.Health(), Resource: item.Resource, Namespace: item.Namespace, Purpose: item.Purpose,
			Paused: item.Paused != nil && item.Paused(), Dead: item.dead,
		})
	}
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Purpose, b.Purpose))
	})
	return states
}
