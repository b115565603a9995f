package patches

import (
	"encoding/json"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Op is what an operation does.
type Op string

// The operations that are used.
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
	Value any    // not for Remove
}

// JSON is the operation as a JSON object. A null value is written, the value of
// a removal is not.
func (o Operation) JSON() dicts.Object {
	doc := dicts.Object{"op": string(o.Op), "path": o.Path}
	if o.Op != Remove {
		doc["value"] = o.Value
	}
	return doc
}

// MarshalJSON writes the form of JSON.
func (o Operation) MarshalJSON() ([]byte, error) { return json.Marshal(o.JSON()) }

// Split separates what concerns the status, for resources where it is written
// through an endpoint of its own.
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

// WithTest guards operations: if the object has another resourceVersion by now,
// the API server refuses all of them (422).
func WithTest(resourceVersion string, operations []Operation) []Operation {
	guard := Operation{Op: Test, Path: "/metadata/resourceVersion", Value: resourceVersion}
	return append([]Operation{guard}, operations...)
}

// pointerTo extends a JSON pointer by a key.
//
// See https://www.rfc-editor.org/rfc/rfc6901#section-3
func pointerTo(path, key string) string {
	return path + "/" + pointerEscapes.Replace(key)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
