package registration

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// checkTwins refuses different functions that have one id and can meet in one
// cause of one resource: they would share one record of progress. Which resources a
// selector selects is only known in the cluster, so only equal selectors are compared here.
func checkTwins(handlers []abi.Handler) error {
	type key struct{ id, resource, cause string }
	seen := map[key]string{}
	for _, h := range handlers {
		if h.Fn == "" {
			continue
		}
		resource, err := json.Marshal(h.Resource)
		if err != nil {
			return err
		}
		for _, cause := range causesOf(&h) {
			k := key{fullID(&h), string(resource), cause}
			if other, ok := seen[k]; ok && other != h.Fn {
				return fmt.Errorf("two functions with the id %q meet in one cause (%s): %s and %s", h.ID, cause, other, h.Fn)
			}
			seen[k] = h.Fn
		}
	}
	return nil
}

// fullID is the id with the suffix of the field.
func fullID(h *abi.Handler) string {
	id := h.ID
	for i, part := range h.Field {
		if i == 0 {
			id += "/" + part
		} else {
			id += "." + part
		}
	}
	return id
}

// causesOf are the causes that call handlers of a kind. Resuming is mixed with
// the others: its handlers run in the same cycle, whatever else happened.
func causesOf(h *abi.Handler) []string {
	switch h.Kind {
	case abi.KindCreate:
		return []string{"create"}
	case abi.KindUpdate:
		return []string{"update"}
	case abi.KindDelete:
		return []string{"delete"}
	case abi.KindResume:
		if h.Deleted {
			return []string{"resume", "create", "update", "delete"}
		}
		return []string{"resume", "create", "update"}
	case abi.KindField:
		return []string{"create", "update", "resume"}
	case abi.KindTimer, abi.KindDaemon:
		return []string{"spawning"}
	case abi.KindValidate, abi.KindMutate:
		return []string{"admission"}
	case abi.KindConvert:
		return []string{"convert " + h.From + " " + h.To}
	}
	return []string{string(h.Kind)}
}
