package vectors

import (
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

var dictFunctions = map[string]Function{
	"field-paths":        {Call: parsePath},
	"dict-resolve":       {Call: resolve},
	"dict-ensure-remove": {Call: ensureOrRemove},
	"dict-walk":          {Call: walk},
}

func parsePath(c Case) (any, error) {
	path, err := dicts.ParsePath(c.In["field"])
	return dicts.List(path), err
}

func resolve(c Case) (any, error) {
	path, err := dicts.ParsePath(c.In["field"])
	if err != nil {
		return nil, err
	}
	if fallback, ok := c.In["default"]; ok {
		if value, ok := dicts.Lookup(c.In["d"], path...); ok {
			return value, nil
		}
		return fallback, nil
	}
	value, ok, err := dicts.Resolve(c.In["d"], path)
	if err == nil && !ok {
		err = errors.New("absent")
	}
	return value, err
}

func ensureOrRemove(c Case) (any, error) {
	path, err := dicts.ParsePath(c.In["field"])
	if err != nil {
		return nil, err
	}
	obj, ok := c.In["d"].(dicts.Object)
	if !ok {
		return nil, dicts.ErrNotObject
	}
	switch op := c.In["op"]; op {
	case "ensure":
		err = dicts.Ensure(obj, path, c.In["value"])
	case "remove":
		err = dicts.Remove(obj, path)
	default:
		err = fmt.Errorf("unknown operation %v", op)
	}
	return obj, err
}

func walk(c Case) (any, error) {
	nested, err := parsePaths(c.In["nested"])
	if err != nil {
		return nil, err
	}
	list, err := walkObjects(c.In["objs"], nested)
	return append([]any{}, list...), err
}

// walkObjects lists the objects in a value that is an object, a list of objects, a list of
// lists, and so on. After each object come those of its fields that the nested paths name.
// Null values are left out, also in lists; other scalars are listed. The host itself does not
// walk objects: the SDKs do, and the vectors "hierarchies" judge them. This function keeps the
// recorded rule of the reference.
//
// Errors: dicts.ErrNotObject if a nested path leads through a value that is not an object, or
// if the value is a text (the reference iterates over its characters without an end).
func walkObjects(objs any, nested []dicts.Path) ([]any, error) {
	return appendWalked(nil, objs, nested)
}

func appendWalked(list []any, objs any, nested []dicts.Path) (_ []any, err error) {
	switch objs := objs.(type) {
	case nil:
		return list, nil
	case dicts.Object:
		return walkFields(append(list, objs), objs, nested)
	case []any:
		for _, obj := range objs {
			if list, err = appendWalked(list, obj, nested); err != nil {
				return nil, err
			}
		}
		return list, nil
	case string:
		if objs == "" {
			return list, nil
		}
		return nil, fmt.Errorf("%w: a string cannot be walked", dicts.ErrNotObject)
	default:
		return append(list, objs), nil
	}
}

func walkFields(list []any, obj dicts.Object, nested []dicts.Path) ([]any, error) {
	for _, path := range nested {
		value, ok, err := dicts.Resolve(obj, path)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, value)
		}
	}
	return list, nil
}
