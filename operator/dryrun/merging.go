package dryrun

import (
	"reflect"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// merged returns a document after a merge patch. It shares values with both.
//
// See https://www.rfc-editor.org/rfc/rfc7396
func merged(doc any, patch any) any {
	changes, ok := patch.(dicts.Object)
	if !ok {
		return patch
	}
	result := dicts.Object{}
	before, _ := doc.(dicts.Object)
	for key, value := range before {
		result[key] = value
	}
	for key, value := range changes {
		if value == nil {
			delete(result, key)
			continue
		}
		result[key] = merged(result[key], value)
	}
	return result
}

// difference returns the merge patch that turns one object into another; empty if they are equal.
func difference(from, to dicts.Object) dicts.Object {
	patch := dicts.Object{}
	for key := range from {
		if _, kept := to[key]; !kept {
			patch[key] = nil
		}
	}
	for key, value := range to {
		before, known := from[key]
		if known && reflect.DeepEqual(before, value) {
			continue
		}
		old, wasObject := before.(dicts.Object)
		now, isObject := value.(dicts.Object)
		if wasObject && isObject {
			patch[key] = difference(old, now)
			continue
		}
		patch[key] = value
	}
	return patch
}
