package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/abi/options"
)

// checkOptions refuses unknown kinds, and options that the kind does not accept.
func checkOptions(given map[string]json.RawMessage, child bool) error {
	var kind abi.Kind
	if err := json.Unmarshal(given["kind"], &kind); err != nil || kind == "" {
		return errors.New("it has no kind")
	}
	known, isChild := options.Known(kind)
	switch {
	case !known:
		return fmt.Errorf("unknown kind %q", kind)
	case child && !isChild:
		return fmt.Errorf("the kind of a child is %q, not %q", abi.KindSub, kind)
	case !child && isChild:
		return fmt.Errorf("the kind %q is only for children", abi.KindSub)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		option, known := options.Find(name)
		switch {
		case !known:
			return fmt.Errorf("unknown option %s", name)
		case !option.Has(kind) && string(given[name]) != "null":
			return fmt.Errorf("option %s is not for %s handlers", name, kind)
		}
	}
	return nil
}

// lifecycles lists the names of lifecycles, which order handlers.
//
// Kopf: kopf.lifecycles (v1.45).
var lifecycles = []string{"", "asap", "one_by_one", "all_at_once", "randomized", "shuffled"}

func checkLifecycle(name string) error {
	if !slices.Contains(lifecycles, name) {
		return fmt.Errorf("unknown lifecycle %q", name)
	}
	return nil
}
