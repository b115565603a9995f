// Package claims keeps the operators of one process from handling the same objects in the
// same way.
package claims

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// ErrOverlap is the error for two operators of one process that claim the same objects.
// Each would take the other's progress for its own.
var ErrOverlap = errors.New("two operators for the same objects")

// Claims records what each operator of a process handles, and where it stores its state.
// The zero value is empty.
type Claims struct {
	mu    sync.Mutex // guards items
	items map[*claim]bool
}

// Claimant is an operator that claims resources.
type Claimant struct {
	Owner    any    // the operator itself
	Operator string // its name in errors
	Cluster  string // its URL

	// Precedence decides between operators: a higher one takes the objects of a lower one.
	Precedence int

	// Refuse ends the operator, because another one has its objects, or because there is no memory for them.
	Refuse func(err error)
}

// Wanted is what an operator claims.
type Wanted struct {
	dimensions.Dimension
	Persistence settings.Persistence // what is stored on the objects

	// Forbidden reports whether the API server refuses the objects to the operator: then its claim
	// yields to those of others. It does not block. Nil: never.
	Forbidden func() bool

	// Refused asks the API server whether it refuses the objects to the operator, before an operator of a lower precedence
	// loses them. Nil: never.
	Refused func() bool
}

// patience bounds the time that an operator has to end when another one takes its objects.
const patience = time.Minute

// claim is one operator's claim to a resource in a namespace, or everywhere.
type claim struct {
	Claimant
	resource  selectors.Key
	namespace string // empty: everywhere
	finalizer string
	kept      []string // paths of the fields that store the last handled state
	forbidden func() bool
	gone      chan struct{} // closed when the claim is given back
}

// Claim claims a resource in a namespace, or everywhere. If an operator of a lower precedence
// has it, or one that may not have it, that operator is refused, and Claim waits for its end.
// The returned release gives the claim back.
//
// Errors: ErrOverlap, also if the API server refuses what others would lose; the end of the context.
func (s *Claims) Claim(ctx context.Context, by Claimant, w Wanted) (release func(), err error) {
	kept, err := placesOf(w.Persistence.DiffBase)
	if err != nil {
		return nil, err
	}
	c := &claim{
		Claimant: by, resource: w.Resource.Key(), namespace: w.Namespace, finalizer: w.Persistence.Finalizer, kept: kept,
		forbidden: w.Forbidden, gone: make(chan struct{}),
	}
	release = func() { s.drop(func(other *claim) bool { return other == c }) }
	if other, what := s.lesser(c); other != nil && w.Refused != nil && w.Refused() {
		return nil, fmt.Errorf("%w; %s may not list and patch them", c.refusal(other, what), c.Operator)
	}
	losers, err := s.add(c)
	if err != nil {
		return nil, err
	}
	for other, what := range losers {
		other.Refuse(other.refusal(c, what))
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for other := range losers {
		select {
		case <-other.gone:
		case <-late.Done(): // what does not end has no rights, or those of a tenant
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
	return release, nil
}

// lesser returns a claim of a lower precedence that overlaps with another one, and what they share; nil if there is none.
func (s *Claims) lesser(c *claim) (other *claim, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.items {
		if what := c.overlap(other); what != "" && other.Precedence < c.Precedence {
			return other, what
		}
	}
	return nil, ""
}

// add adds a claim, unless it overlaps with a claim that does not yield. It returns those that
// do, with what they share.
func (s *Claims) add(c *claim) (losers map[*claim]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.items {
		what := c.overlap(other)
		switch {
		case what == "":
		case !other.yields(c):
			return nil, c.refusal(other, what)
		default:
			if losers == nil {
				losers = map[*claim]string{}
			}
			losers[other] = what
		}
	}
	if s.items == nil {
		s.items = map[*claim]bool{}
	}
	s.items[c] = true
	return losers, nil
}

// yields reports whether another claim takes the place of this one.
func (c *claim) yields(to *claim) bool {
	return c.Refuse != nil && (c.Precedence < to.Precedence || c.forbidden != nil && c.forbidden())
}

// refusal is the error of an operator that does not get what another one has.
func (c *claim) refusal(other *claim, what string) error {
	return fmt.Errorf("%w: %s and %s both handle %s.%s with the same %s; give one of them others by the settings persistence.finalizer and persistence.diffbase_storage",
		ErrOverlap, c.Operator, other.Operator, c.resource.Plural, c.resource.Group, what)
}

// Leave gives back all claims of an operator that has ended. A nil s has none.
func (s *Claims) Leave(owner any) {
	if s != nil {
		s.drop(func(c *claim) bool { return c.Owner == owner })
	}
}

// drop gives back claims.
func (s *Claims) drop(which func(*claim) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.items {
		if which(c) {
			delete(s.items, c)
			close(c.gone)
		}
	}
}

// overlap returns what two claims share and only one of them may have; empty if nothing.
func (c *claim) overlap(other *claim) string {
	apart := c.Owner == other.Owner || c.Cluster != other.Cluster || c.resource.Group != other.resource.Group || c.resource.Plural != other.resource.Plural ||
		c.namespace != other.namespace && c.namespace != "" && other.namespace != ""
	switch {
	case apart:
		return ""
	case c.finalizer == other.finalizer:
		return "finalizer"
	case slices.ContainsFunc(c.kept, func(path string) bool { return slices.Contains(other.kept, path) }):
		return "storage of the last handled state"
	}
	return ""
}

// placesOf returns the fields to which a storage writes a state. It works for any storage.
func placesOf(storage stores.DiffBaseStorage) ([]string, error) {
	const trace = "a state to be found"
	patch := &stores.Patch{}
	if err := storage.Store(dicts.Object{}, patch, dicts.Object{"spec": trace}); err != nil {
		return nil, fmt.Errorf("the storage of the last handled state: %w", err)
	}
	return pathsTo(trace, "", patch.Object()), nil
}

// pathsTo returns the paths of the texts that contain the trace.
func pathsTo(trace, at string, value any) []string {
	var paths []string
	switch value := value.(type) {
	case dicts.Object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			paths = append(paths, pathsTo(trace, at+"/"+key, value[key])...)
		}
	case string:
		if strings.Contains(value, trace) {
			paths = append(paths, at)
		}
	}
	return paths
}
