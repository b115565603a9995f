package kopf

import "github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"

// DecodeError is a value that does not fit the type it is decoded into. It names
// the field: "spec.size: want an integer, got a string".
//
// No retry cures an object that does not fit, so a handler that returns this error
// fails permanently, until the object is changed. Wrap it into Temporary to retry.
type DecodeError = jsonlite.DecodeError

// Decode makes a value of a type of yours of what a view shows. This one form
// serves all parts of an object, parameters, memos and settings:
//
//	type VolumeSpec struct {
//		Size  int      `json:"size"`
//		Zones []string `json:"zones"`
//	}
//
//	spec, err := kopf.Decode[VolumeSpec](c.Spec)
//	finalizers, err := kopf.Decode[[]string](c.Meta.Get("finalizers"))
//
// The tags are those of encoding/json (names, "-", omitempty, omitzero); names
// match exactly; unknown keys are ignored; absent values and null leave zero values.
// Errors are of the type *DecodeError.
func Decode[T any](v View) (T, error) {
	var target T
	err := v.DecodeInto(&target)
	return target, err
}

// DecodeInto decodes the value into what target points to, like Decode. What
// target holds already are defaults: absent fields keep them.
func (v View) DecodeInto(target any) error {
	return jsonlite.Decode(v.raw(), target, string(v.n.path()))
}

// Encode is the JSON text of a value, in the form of results and patches.
func Encode(value any) ([]byte, error) { return jsonlite.Encode(value) }
