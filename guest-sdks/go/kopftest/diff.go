package kopftest

import (
	"reflect"
	"slices"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// essence is what matters of a body: everything but its status and what the
// cluster says about it. The host leaves out its own annotations too.
func essence(body kopf.Map) kopf.Map {
	out := kopf.Map{}
	for key, value := range body {
		if key != "apiVersion" && key != "kind" && key != "metadata" && key != "status" {
			out[key] = value
		}
	}
	meta, _ := body["metadata"].(kopf.Map)
	for _, key := range []string{"labels", "annotations"} {
		if meta[key] != nil {
			kopf.Nested(out, "metadata")[key] = meta[key]
		}
	}
	return out
}

// diff lists the differences of two values, in the form of the segment.
//
// Kopf: kopf._cogs.structs.diffs.diff_iter (v1.45).
func diff(before, after any, path []string) []any {
	older, wasMap := before.(kopf.Map)
	newer, isMap := after.(kopf.Map)
	at := append([]string{}, path...)
	switch {
	case reflect.DeepEqual(before, after):
		return []any{}
	case before == nil:
		return []any{[]any{"add", at, nil, after}}
	case after == nil:
		return []any{[]any{"remove", at, before, nil}}
	case !wasMap || !isMap:
		return []any{[]any{"change", at, before, after}}
	}
	keys := []string{}
	for key := range older {
		keys = append(keys, key)
	}
	for key := range newer {
		if _, ok := older[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	out := []any{}
	for _, key := range keys {
		out = append(out, diff(older[key], newer[key], append(at, key))...)
	}
	return out
}

// Apply is a body with a merge patch applied (RFC 7386). Neither is changed.
func Apply(body, patch kopf.Map) kopf.Map {
	out := kopf.Map{}
	for key, value := range body {
		out[key] = value
	}
	for key, value := range patch {
		inner, isMap := value.(kopf.Map)
		switch {
		case value == nil:
			delete(out, key)
		case isMap:
			present, _ := out[key].(kopf.Map)
			out[key] = Apply(present, inner)
		default:
			out[key] = value
		}
	}
	return out
}
