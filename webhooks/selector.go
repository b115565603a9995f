package webhooks

import (
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// LabelSelector makes the API server call a webhook only for objects with these labels. A
// selector cannot express functions: the host asks the guest instead. The result is nil
// without a condition.
//
// See https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements
func LabelSelector(labels map[string]abi.Raw) (dicts.Object, error) {
	var expressions []any
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch string(labels[key]) {
		case abi.Present:
			expressions = append(expressions, dicts.Object{"key": key, "operator": "Exists"})
		case abi.Absent:
			expressions = append(expressions, dicts.Object{"key": key, "operator": "DoesNotExist"})
		case abi.Function:
		default:
			value, err := dicts.Decode(labels[key])
			if err != nil {
				return nil, err
			}
			expressions = append(expressions, dicts.Object{"key": key, "operator": "In", "values": []any{text(value)}})
		}
	}
	if expressions == nil {
		return nil, nil
	}
	return dicts.Object{"matchExpressions": expressions}, nil
}

// text converts a value to the text of a label.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return string(dicts.Encode(value))
}
