package scenarios

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// differences compares the expected part of a document with the found document: each field
// that is expected must be equal. Null expects that the field does not exist. Lists must be
// equal, item by item. The error of a call is expected as a part of its text.
func differences(path string, want, found any) []string {
	switch want := want.(type) {
	case dicts.Object:
		return differentFields(path, want, found)
	case []any:
		list, ok := found.([]any)
		if !ok || len(list) != len(want) {
			return differ(path, want, found)
		}
		var lines []string
		for i := range want {
			lines = append(lines, differences(join(path, strconv.Itoa(i)), want[i], list[i])...)
		}
		return lines
	case nil:
		if _, ok := found.(absent); ok || found == nil {
			return nil
		}
		return differ(path, want, found)
	}
	if text, ok := want.(string); ok && path == "error" {
		if whole, ok := found.(string); ok && strings.Contains(whole, text) {
			return nil
		}
	}
	if _, ok := found.(absent); ok || !dicts.Equal(want, found) {
		return differ(path, want, found)
	}
	return nil
}

// differentFields compares the expected fields of an object. An object that does not exist has
// no fields, so it meets the expectation that they do not exist.
func differentFields(path string, want dicts.Object, found any) []string {
	object, ok := found.(dicts.Object)
	if _, none := found.(absent); !ok && !none {
		return differ(path, want, found)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, exists := object[name]
		if !exists {
			value = absent{}
		}
		lines = append(lines, differences(join(path, name), want[name], value)...)
	}
	if !ok && len(lines) > 0 {
		return differ(path, want, found)
	}
	return lines
}

// absent stands for a field that does not exist.
type absent struct{}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func differ(path string, want, found any) []string {
	text := string(dicts.Encode(want))
	if want == nil {
		text = "(absent)"
	}
	got := string(dicts.Encode(found))
	if _, ok := found.(absent); ok {
		got = "(absent)"
	}
	return []string{"- " + path + ": " + text, "+ " + path + ": " + got}
}
