package discovery

import (
	"reflect"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// last is the result of the last scan in this process. Operators of one cluster find the
// same resources, and keep them.
var last interned //nolint:gochecknoglobals // operators of one process do not know of each other otherwise

// interned keeps one result.
type interned struct {
	mu          sync.Mutex // guards the fields below
	resources   []selectors.Resource
	definitions map[string]bool // of the resources; nil: not asked for yet
}

// of returns the kept result if it equals the given one. Otherwise, it keeps the given one.
func (i *interned) of(resources []selectors.Resource) []selectors.Resource {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !reflect.DeepEqual(i.resources, resources) {
		i.resources, i.definitions = resources, nil
	}
	return i.resources
}

// Definitions returns the set of the resources, named as definitions are: plural.group. The
// caller must not change it, because it is made once for each result of a scan.
func Definitions(resources []selectors.Resource) map[string]bool {
	return last.definitionsOf(resources)
}

func (i *interned) definitionsOf(resources []selectors.Resource) map[string]bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(resources) == 0 || len(resources) != len(i.resources) || &resources[0] != &i.resources[0] {
		return definitionsOf(resources)
	}
	if i.definitions == nil {
		i.definitions = definitionsOf(resources)
	}
	return i.definitions
}

func definitionsOf(resources []selectors.Resource) map[string]bool {
	definitions := make(map[string]bool, len(resources))
	for _, r := range resources {
		definitions[r.Plural+"."+r.Group] = true
	}
	return definitions
}
