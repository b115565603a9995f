package vectors

import (
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/indexing"
)

var indexingFunctions = map[string]Function{
	"index-content": {Call: indexContent, Equal: sameIndex},
}

// indexContent replays what index handlers have returned for some objects.
func indexContent(c Case) (any, error) {
	index := &indexing.Index{}
	operations, _ := c.In["ops"].([]any)
	for _, op := range operations {
		object := dicts.LookupString(op, "obj")
		result, _ := dicts.Lookup(op, "result")
		switch what := dicts.LookupString(op, "do"); {
		case what == "discard" || what == "unmatched" || what == "error":
			index.Discard(object)
		case what != "result":
			return nil, fmt.Errorf("unknown operation %q", what)
		case result != nil:
			pairs, err := indexing.ParsePairs(keyed(result))
			if err != nil {
				return nil, err
			}
			index.Replace(object, pairs)
		}
	}
	return content(index)
}

// keyed is a result as guests return it: maps have keys, all else has none.
func keyed(result any) (any, bool) {
	object, ok := result.(dicts.Object)
	if !ok {
		return result, false
	}
	pairs := []any{}
	for key, value := range object {
		pairs = append(pairs, []any{key, value})
	}
	return pairs, true
}

// content looks everything up.
func content(index *indexing.Index) (any, error) {
	found := dicts.Object{}
	raw, err := index.Look(indexing.OpKeys, nil)
	if err != nil {
		return nil, err
	}
	keys, err := dicts.Decode(raw)
	if err != nil {
		return nil, err
	}
	for _, key := range keys.([]any) {
		encoded := dicts.Encode(key)
		raw, err := index.Look(indexing.OpValues, encoded)
		if err != nil {
			return nil, err
		}
		if found[string(encoded)], err = dicts.Decode(raw); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// sameIndex ignores the order of values under one key: it is arbitrary.
func sameIndex(c Case, got any) bool {
	want, _ := c.Out.(dicts.Object)
	have, _ := got.(dicts.Object)
	if len(want) != len(have) {
		return false
	}
	for key, values := range want {
		list, _ := have[key].([]any)
		if !sameInAnyOrder(Case{Out: values}, list) {
			return false
		}
	}
	return true
}
