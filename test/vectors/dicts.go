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
	return texts(path), err
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
	list, err := dicts.Walk(c.In["objs"], nested)
	return append([]any{}, list...), err
}
