package dryrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// errConflict says that operations do not fit to the object.
var errConflict = errors.New("the operations do not fit to the object")

// operation is one operation of a JSON patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// operated returns an object after a JSON patch with the operations that operators use: add,
// remove, replace and test.
//
// See https://www.rfc-editor.org/rfc/rfc6902
func operated(object dicts.Object, patch []byte) (dicts.Object, error) {
	var operations []operation
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, err
	}
	var doc any = dicts.CloneObject(object)
	for _, o := range operations {
		var value any
		if len(o.Value) > 0 {
			var err error
			if value, err = dicts.Decode(o.Value); err != nil {
				return nil, err
			}
		}
		var err error
		if doc, err = o.apply(doc, value, pointer(o.Path)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Op, o.Path, err)
		}
	}
	result, ok := doc.(dicts.Object)
	if !ok {
		return nil, errConflict
	}
	return result, nil
}

// pointer splits a JSON pointer.
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts
}

// apply returns a document after the operation at a path.
func (o operation) apply(doc, value any, path []string) (any, error) {
	if len(path) == 0 {
		if o.Op == "test" && !reflect.DeepEqual(doc, value) {
			return nil, errConflict
		}
		if o.Op == "test" {
			return doc, nil
		}
		return value, nil
	}
	switch doc := doc.(type) {
	case dicts.Object:
		return o.applyToObject(doc, value, path)
	case []any:
		return o.applyToList(doc, value, path)
	}
	return nil, errConflict
}

func (o operation) applyToObject(doc dicts.Object, value any, path []string) (any, error) {
	key := path[0]
	before, known := doc[key]
	if !known && (len(path) > 1 || o.Op != "add") {
		return nil, errConflict
	}
	if len(path) == 1 && o.Op == "remove" {
		delete(doc, key)
		return doc, nil
	}
	after, err := o.apply(before, value, path[1:])
	doc[key] = after
	return doc, err
}

func (o operation) applyToList(doc []any, value any, path []string) (any, error) {
	index, err := strconv.Atoi(path[0])
	if path[0] == "-" {
		index, err = len(doc), nil
	}
	adds := len(path) == 1 && o.Op == "add"
	if err != nil || index < 0 || index > len(doc) || index == len(doc) && !adds {
		return nil, errConflict
	}
	switch {
	case adds:
		return slices.Insert(doc, index, value), nil
	case len(path) == 1 && o.Op == "remove":
		return slices.Delete(doc, index, index+1), nil
	}
	doc[index], err = o.apply(doc[index], value, path[1:])
	return doc, err
}
