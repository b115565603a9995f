package dicts

import (
	"encoding/json"
	"maps"
	"slices"
)

// Equal compares documents as Python's == does: numbers by their exact value (1 == 1.0 ==
// true), objects regardless of the order of keys. A key with null differs from an absent
// key.
func Equal(a, b any) bool {
	if lazy, ok := b.(*Lazy); ok {
		if other, ok := a.(*Lazy); ok {
			return lazy.equal(other)
		}
		b = lazy.open()
	}
	switch a := a.(type) {
	case *Lazy:
		return Equal(a.open(), b)
	case nil:
		return b == nil
	case string:
		text, ok := b.(string)
		return ok && a == text
	case Object:
		obj, ok := b.(Object)
		return ok && maps.EqualFunc(a, obj, Equal)
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, Equal)
	case json.Number:
		if text, ok := b.(json.Number); ok && a == text {
			return true // the most frequent case, which needs no parsing
		}
	}
	x, ok := numberOf(a)
	if !ok {
		return false
	}
	y, ok := numberOf(b)
	return ok && x.equal(y)
}
