// Package claims keeps the operators of one process from handling the same objects in the
// same way.
package claims

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

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
}

// claim is one operator's claim to a resource in a namespace, or everywhere.
type claim struct {
	Claimant
	resource  selectors.Key
	namespace string // empty: everywhere
	finalizer string
	kept      []string // paths of the fields that store the last handled state
}

// Claim claims a resource in a namespace, or everywhere. The persistence settings say what
// is stored on its objects. The returned release gives the claim back.
//
// Errors: ErrOverlap.
func (s *Claims) Claim(by Claimant, d dimensions.Dimension, persistence settings.Persistence) (release func(), err error) {
	kept, err := placesOf(persistence.DiffBase)
	if err != nil {
		return nil, err
	}
	return s.add(&claim{Claimant: by, resource: d.Resource.Key(), namespace: d.Namespace, finalizer: persistence.Finalizer, kept: kept})
}

// add adds a claim, unless it overlaps with a claim of another operator.
func (s *Claims) add(c *claim) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.items {
		if what := c.overlap(other); what != "" {
			return nil, fmt.Errorf("%w: %s and %s both handle %s.%s with the same %s; give one of them others by the settings persistence.finalizer and persistence.diffbase_storage",
				ErrOverlap, c.Operator, other.Operator, c.resource.Plural, c.resource.Group, what)
		}
	}
	if s.items == nil {
		s.items = map[*claim]bool{}
	}
	s.items[c] = true
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.items, c)
	}), nil
}

// Leave gives back all claims of an operator that has ended. A nil s has none.
func (s *Claims) Leave(owner any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.items, func(c *claim, _ bool) bool { return c.Owner == owner })
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
