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
	return Generate("", &h.ID, "", strings.Join(h.Field, "."))
}

// Generate joins the id of a handler with the id of its parent as a prefix and the field
// as a suffix. If id is nil, it uses the name of the function. Empty parts are left out.
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
