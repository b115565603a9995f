package vectors

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// sameJSON compares documents by their bytes, with sorted keys. Other than for
// Python, true is not 1 here.
func sameJSON(a, b any) bool { return bytes.Equal(dicts.Encode(a), dicts.Encode(b)) }

// sameByValue compares documents as Python does: 0 is 0.0, and true is 1.
func sameByValue(c Case, got any) bool { return dicts.Equal(c.Out, got) }

// sameInAnyOrder compares lists whose order is arbitrary in the reference.
func sameInAnyOrder(c Case, got any) bool {
	return slices.Equal(encodedItems(c.Out), encodedItems(got))
}

func encodedItems(doc any) []string {
	list, _ := doc.([]any)
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = string(dicts.Encode(item))
	}
	slices.Sort(items)
	return items
}

// sameButKeyOrder compares documents with JSON in their strings. The strings
// must be equal but for the order of keys: same data, same length, same end.
func sameButKeyOrder(a, b any) bool {
	switch a := a.(type) {
	case dicts.Object:
		b, ok := b.(dicts.Object)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !sameButKeyOrder(value, other) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && (a == b || sameText(a, b))
	default:
		return sameJSON(a, b)
	}
}

func sameText(a, b string) bool {
	docA, errA := dicts.Decode([]byte(a))
	docB, errB := dicts.Decode([]byte(b))
	return errA == nil && errB == nil && sameJSON(docA, docB) &&
		len(a) == len(b) && strings.HasSuffix(a, "\n") == strings.HasSuffix(b, "\n")
}

// keysOf lists the keys of the objects in a JSON text, nested ones too, object
// by object, in the order of the text.
func keysOf(raw json.RawMessage) [][]string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var objects [][]string
	collectKeys(decoder, &objects)
	return objects
}

// collectKeys reads one value. Broken JSON ends it early: the text was parsed before.
func collectKeys(decoder *json.Decoder, objects *[][]string) {
	token, err := decoder.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('['):
		for decoder.More() {
			collectKeys(decoder, objects)
		}
	case json.Delim('{'):
		place := len(*objects)
		*objects = append(*objects, nil)
		var keys []string
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return
			}
			keys = append(keys, key.(string))
			collectKeys(decoder, objects)
		}
		(*objects)[place] = keys
	default:
		return
	}
	_, _ = decoder.Token() // the closing bracket
}

// hasSortedKeys tells whether the text is as API servers send custom objects.
func hasSortedKeys(raw json.RawMessage) bool {
	for _, keys := range keysOf(raw) {
		if !slices.IsSorted(keys) {
			return false
		}
	}
	return true
}

// parsePaths reads a list of fields; null is none.
func parsePaths(doc any) ([]dicts.Path, error) {
	specs, _ := doc.([]any)
	var paths []dicts.Path
	for _, spec := range specs {
		path, err := dicts.ParsePath(spec)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
