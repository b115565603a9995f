package progression

import (
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// DeliverResults adds the results of handlers to the status, each under the id of the
// handler. An object is merged into an existing object of the patch; any other value
// replaces the existing value. Failed handlers have no results.
//
// See https://docs.kopf.dev/en/latest/results/
func DeliverResults(outcomes map[string]Outcome, patch *stores.Patch) error {
	for id, outcome := range outcomes {
		if outcome.Error != nil || outcome.Result == nil {
			continue
		}
		if err := deliver(id, outcome.Result, patch); err != nil {
			return fmt.Errorf("storing the result of the handler %q: %w", id, err)
		}
	}
	return nil
}

func deliver(id string, result any, patch *stores.Patch) error {
	path := dicts.Path{"status", id}
	obj, ok := result.(stores.Object)
	if !ok {
		return patch.Set(path, dicts.Clone(result))
	}
	present, ok, err := dicts.Resolve(patch.Object(), path)
	if err != nil {
		return err
	}
	if !ok {
		present = stores.Object{}
	}
	merged, ok := present.(stores.Object)
	if !ok {
		return fmt.Errorf("status.%s in the patch: %w", id, dicts.ErrNotObject)
	}
	maps.Copy(merged, dicts.CloneObject(obj))
	return patch.Set(path, merged)
}
