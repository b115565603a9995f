package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// merge applies a merge patch in place (RFC 7386).
func merge(target, patch dicts.Object) {
	for name, value := range patch {
		part, ok := value.(dicts.Object)
		if !ok {
			if value == nil {
				delete(target, name)
			} else {
				target[name] = dicts.Clone(value)
			}
			continue
		}
		inner, ok := target[name].(dicts.Object)
		if !ok {
			inner = dicts.Object{}
			target[name] = inner
		}
		merge(inner, part)
	}
}

// operate applies a JSON patch in place (RFC 6902): add, remove, replace and test.
func operate(target dicts.Object, operations []any) error {
	var root any = target
	for _, item := range operations {
		op, pointer := dicts.LookupString(item, "op"), dicts.LookupString(item, "path")
		value, _ := dicts.Lookup(item, "value")
		var keys []string
		if pointer != "" {
			keys = strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		}
		for i := range keys {
			keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
		}
		changed, ok := operateAt(root, keys, op, dicts.Clone(value))
		if !ok {
			return failf(http.StatusUnprocessableEntity, "Invalid", "the operation %s of %q cannot be applied", op, pointer)
		}
		root = changed
	}
	return nil
}

// operateAt applies one operation below a value, and returns the value.
func operateAt(at any, keys []string, op string, value any) (any, bool) {
	if len(keys) == 0 {
		return at, op == "test" && dicts.Equal(at, value)
	}
	switch at := at.(type) {
	case dicts.Object:
		return operateOn(at, keys, op, value)
	case []any:
		return operateIn(at, keys, op, value)
	}
	return at, false
}

func operateOn(at dicts.Object, keys []string, op string, value any) (any, bool) {
	inner, exists := at[keys[0]]
	if len(keys) > 1 {
		changed, ok := operateAt(inner, keys[1:], op, value)
		if ok && exists {
			at[keys[0]] = changed
		}
		return at, ok && exists
	}
	switch op {
	case "test":
		return at, dicts.Equal(inner, value)
	case "remove":
		delete(at, keys[0])
		return at, exists
	case "add", "replace":
		at[keys[0]] = value
		return at, op == "add" || exists
	}
	return at, false
}

func operateIn(at []any, keys []string, op string, value any) (any, bool) {
	index, err := strconv.Atoi(keys[0])
	if keys[0] == "-" {
		index, err = len(at), nil
	}
	if err != nil || index < 0 || index > len(at) || index == len(at) && (op != "add" || len(keys) > 1) {
		return at, false
	}
	if len(keys) > 1 {
		changed, ok := operateAt(at[index], keys[1:], op, value)
		if ok {
			at[index] = changed
		}
		return at, ok
	}
	switch op {
	case "test":
		return at, dicts.Equal(at[index], value)
	case "remove":
		return slices.Delete(at, index, index+1), true
	case "replace":
		at[index] = value
		return at, true
	case "add":
		return slices.Insert(at, index, value), true
	}
	return at, false
}
