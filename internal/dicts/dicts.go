// Package dicts works on JSON documents as Go values: objects, lists, strings,
// booleans, nil, and json.Number, so that numbers stay as they were written.
// It holds what the rest of the project needs to behave as Python does on the
// same documents: fields by path, equality, and the bytes of json.dumps.
//
// Kopf: kopf._cogs.structs.dicts.
package dicts

import (
	"errors"
	"fmt"
	"strings"
)

// Object is a JSON object: a body, a patch, an essence, or any part of them.
type Object = map[string]any

// Path names a nested field by the keys that lead to it. The empty path is the
// document itself.
type Path []string

var (
	// ErrPath is the error for a value that cannot be a path.
	ErrPath = errors.New("not a field path")

	// ErrRoot is the error for setting or removing the document itself.
	ErrRoot = errors.New("the path is empty: name a field")

	// ErrNotObject is the error for a path that leads through something that
	// is no object, such as null, a string, or a list.
	ErrNotObject = errors.New("not an object")
)

// ParsePath makes a path of its JSON notations: "a.b", ["a", "b"], or null for
// the document itself. Keys with dots are only possible in a list. The empty
// string is the path of one empty key, as in the reference.
func ParsePath(spec any) (Path, error) {
	switch spec := spec.(type) {
	case nil:
		return Path{}, nil
	case string:
		return strings.Split(spec, "."), nil
	case Path:
		return spec, nil
	case []string:
		return spec, nil
	case []any:
		path := make(Path, len(spec))
		for i, key := range spec {
			text, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("%w: key %d is %s, want a string", ErrPath, i, kindOf(key))
			}
			path[i] = text
		}
		return path, nil
	default:
		return nil, fmt.Errorf("%w: %s, want a string or a list of strings", ErrPath, kindOf(spec))
	}
}

// String is the dotted notation, for messages.
func (p Path) String() string { return strings.Join(p, ".") }

// Clone copies a document so deep that no change of either is seen in the other.
func Clone(v any) any {
	switch v := v.(type) {
	case Object:
		return CloneObject(v)
	case []any:
		if v == nil {
			return v
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Clone(item)
		}
		return list
	default:
		return v
	}
}

// CloneObject is Clone for objects; nil stays nil.
func CloneObject(obj Object) Object {
	if obj == nil {
		return nil
	}
	clone := make(Object, len(obj))
	for key, value := range obj {
		clone[key] = Clone(value)
	}
	return clone
}

// kindOf names the type of a value in the words of JSON, for messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case Object, Members:
		return "an object"
	default:
		if _, ok := numberOf(v); ok {
			return "a number"
		}
		return fmt.Sprintf("a Go value of type %T", v)
	}
}
