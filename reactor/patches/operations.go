package patches

import (
	"encoding/json"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Op is the kind of an operation.
type Op string

// These are the kinds in use.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Replace Op = "replace"
	Test    Op = "test"
)

// Operation is one step of a JSON patch.
//
// See https://www.rfc-editor.org/rfc/rfc6902
type Operation struct {
	Op    Op
	Path  string // a JSON pointer
	Value any    // absent for Remove
}

// JSON returns the operation as a JSON object. It writes null values, but no value for a
// removal.
func (o Operation) JSON() dicts.Object {
	doc := dicts.Object{"op": string(o.Op), "path": o.Path}
	if o.Op != Remove {
		doc["value"] = o.Value
	}
	return doc
}

// MarshalJSON writes the result of JSON.
func (o Operation) MarshalJSON() ([]byte, error) { return json.Marshal(o.JSON()) }

// Split separates the operations on the status, for resources with a status subresource.
func Split(operations []Operation) (body, status []Operation) {
	for _, o := range operations {
		if o.Path == "/status" || strings.HasPrefix(o.Path, "/status/") {
			status = append(status, o)
			continue
		}
		body = append(body, o)
	}
	return body, status
}

// WithTest prepends a test of the resourceVersion: if the object has another version, the
// API server rejects all operations (422).
func WithTest(resourceVersion string, operations []Operation) []Operation {
	guard := Operation{Op: Test, Path: "/metadata/resourceVersion", Value: resourceVersion}
	return append([]Operation{guard}, operations...)
}

// pointerEscapes escapes the keys of JSON pointers.
//
// See https://www.rfc-editor.org/rfc/rfc6901#section-3
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
