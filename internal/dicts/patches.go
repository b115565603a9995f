package dicts

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ErrOperation says that an operation of a JSON patch does not fit the object.
var ErrOperation = errors.New("the operation does not fit the object")

// MergePatch returns a document after a merge patch, as the API server applies it. It shares values with both.
//
// See https://www.rfc-editor.org/rfc/rfc7396. Package reactor/patches has the rules of Kopf, which differ.
func MergePatch(doc, patch any) any {
	changes, ok := patch.(Object)
	if !ok {
		return patch
	}
	before, _ := doc.(Object)
	after := make(Object, len(before)+len(changes))
	for key, value := range before {
		after[key] = value
	}
	for key, value := range changes {
		if value == nil {
			delete(after, key)
		} else {
			after[key] = MergePatch(after[key], value)
		}
	}
	return after
}

// JSONPatch returns an object after the operations of a JSON patch that operators use: add, remove, replace and
// test. It does not change the given object.
//
// Errors: ErrOperation, with the operation.
//
// See https://www.rfc-editor.org/rfc/rfc6902
func JSONPatch(object Object, operations []any) (Object, error) {
	var doc any = CloneObject(object)
	for _, item := range operations {
		value, _ := Lookup(item, "value")
		o := operation{LookupString(item, "op"), Clone(value)}
		path := LookupString(item, "path")
		var err error
		if doc, err = o.apply(doc, pointer(path)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.op, path, err)
		}
	}
	result, ok := doc.(Object)
	if !ok {
		return nil, fmt.Errorf("%w: nothing remains of it", ErrOperation)
	}
	return result, nil
}

// operation is an operation of a JSON patch at some path.
type operation struct {
	op    string
	value any
}

// pointer splits a JSON pointer.
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	keys := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
	}
	return keys
}

// apply returns a document after the operation at a path.
func (o operation) apply(doc any, path []string) (any, error) {
	if len(path) == 0 {
		return o.applyHere(doc)
	}
	switch doc := doc.(type) {
	case Object:
		return o.applyToObject(doc, path)
	case []any:
		return o.applyToList(doc, path)
	}
	return nil, ErrOperation
}

// applyHere replaces or tests a value. Values are removed from what contains them.
func (o operation) applyHere(doc any) (any, error) {
	switch {
	case o.op == "add" || o.op == "replace":
		return o.value, nil
	case o.op == "test" && reflect.DeepEqual(doc, o.value):
		return doc, nil
	}
	return nil, ErrOperation
}

func (o operation) applyToObject(doc Object, path []string) (any, error) {
	key := path[0]
	before, known := doc[key]
	if !known && (len(path) > 1 || o.op != "add") {
		return nil, ErrOperation
	}
	if len(path) == 1 && o.op == "remove" {
		delete(doc, key)
		return doc, nil
	}
	after, err := o.apply(before, path[1:])
	doc[key] = after
	return doc, err
}

func (o operation) applyToList(doc []any, path []string) (any, error) {
	index, err := strconv.Atoi(path[0])
	if path[0] == "-" {
		index, err = len(doc), nil
	}
	adds := len(path) == 1 && o.op == "add"
	if err != nil || index < 0 || index > len(doc) || index == len(doc) && !adds {
		return nil, ErrOperation
	}
	switch {
	case adds:
		return slices.Insert(doc, index, o.value), nil
	case len(path) == 1 && o.op == "remove":
		return slices.Delete(doc, index, index+1), nil
	}
	doc[index], err = o.apply(doc[index], path[1:])
	return doc, err
}
