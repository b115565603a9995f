// Package ids makes the ids of handlers. They name the records of progress and
// the results on the objects, so they must be those of the reference.
//
// Kopf: kopf._core.intents.registries.generate_id.
package ids

import (
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// Registered is the id of a handler as it was declared. That of an index has no field
// in it: other handlers ask for the index by its id.
func Registered(h abi.Handler) string {
	if h.Kind == abi.KindIndex {
		return h.ID
	}
	return Generate("", &h.ID, "", strings.Join(h.Field, "."))
}

// Generate joins the id of a handler, or the name of its function if it has no
// id (nil), with the id of its parent in front and the field behind, for
// sub-handlers and handlers of fields. Empty parts are left out.
func Generate(function string, id *string, parent, field string) string {
	full := function
	if id != nil {
		full = *id
	}
	if field != "" {
		full += "/" + field
	}
	if parent != "" {
		full = parent + "/" + full
	}
	return full
}
