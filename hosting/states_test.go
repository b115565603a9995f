package hosting

import (
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// Keys returns the keys of all declarations, including those whose operators are stopping.
func (h *Host) Keys() []Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.tenants))
}

// Status returns the present status of a declaration; nil without one.
func (h *Host) Status(key Key) *api.Status {
	t, err := h.find(key)
	if err != nil {
		return nil
	}
	return t.report.last()
}
