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
	mu        sync.Mutex // guards resources
	resources []selectors.Resource
}

// of returns the kept result if it equals the given one. Otherwise, it keeps the given one.
func (i *interned) of(resources []selectors.Resource) []selectors.Resource {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !reflect.DeepEqual(i.resources, resources) {
		i.resources = resources
	}
	return i.resources
}
