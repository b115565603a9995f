// Package dicts represents JSON documents as Go values: objects, lists, strings, booleans,
// nil, and json.Number, which keeps the text of numbers. It provides the operations with
// Python's semantics on such documents: fields by path, equality, and the bytes of
// json.dumps.
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
	// ErrPath says that a value cannot be a path.
	ErrPath = errors.New("not a field path")

	// ErrRoot says that an operation would set or remove the document itself.
	ErrRoot = errors.New("the path is empty: name a field")

	// ErrNotObject says that a path leads through a value that is not an object, such as
	// null, a string, or a list.
	ErrNotObject = errors.New("not an object")
)

// ParsePath converts a path from its JSON notations: "a.b", ["a", "b"], or null for the
// document itself. Keys with dots need a list. As in the reference, the empty string is the
// path of one empty key.
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

// String returns the dotted notation, for messages.
func (p Path) String() string { return strings.Join(p, ".") }

// Clone returns a deep copy of a document. Both share Lazy values, which never change.
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

// CloneObject is Clone for objects. Nil stays nil.
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

// kindOf returns the JSON type of a value, for messages.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case *Lazy:
		return kindOf(Open(v))
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

// OrNil returns nil for a missing object: an interface with a nil map is not nil.
func OrNil(object Object) any {
	if object == nil {
		return nil
	}
	return object
}
