package dryrun

import (
	"reflect"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

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
