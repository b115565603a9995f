// Package ids makes the ids of handlers. Ids name the progress records and results on
// objects, so they must equal Kopf's ids.
//
// Kopf: kopf._core.intents.registries.generate_id.
package ids

import (
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// Registered returns the id of a handler from its declaration. Ids of indices do not
// contain the field, because other handlers look an index up by its id.
func Registered(h abi.Handler) string {
	if h.Kind == abi.KindIndex {
		return h.ID
	}
	return Generate(h.ID, "", strings.Join(h.Field, "."))
}

// Generate joins the id of a handler with the id of its parent as a prefix and the field
// as a suffix, if there are any.
func Generate(id, parent, field string) string {
	if field != "" {
		id += "/" + field
	}
	if parent != "" {
		id = parent + "/" + id
	}
	return id
}
