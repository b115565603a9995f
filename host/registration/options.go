package registration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
)

// Groups of kinds that share options.
const (
	// objects are the kinds of handlers that handle objects.
	objects group = 1 << iota
	children
	activities
	// stateful are the kinds that count attempts: all except event, admission and
	// conversion.
	stateful
	update
	remove
	resume
	field
	timer
	daemon
	admission
	convert
)

// group is a set of properties of a kind.
type group uint

// kinds holds the groups of each kind. See abi/SPEC.md, "Handlers".
var kinds = map[abi.Kind]group{
	abi.KindCreate:     objects | stateful,
	abi.KindUpdate:     objects | stateful | update,
	abi.KindDelete:     objects | stateful | remove,
	abi.KindResume:     objects | stateful | resume,
	abi.KindField:      objects | stateful | update | field,
	abi.KindEvent:      objects,
	abi.KindTimer:      objects | stateful | timer,
	abi.KindDaemon:     objects | stateful | daemon,
	abi.KindIndex:      objects | stateful,
	abi.KindValidate:   objects | admission,
	abi.KindMutate:     objects | admission,
	abi.KindConvert:    objects | convert,
	abi.KindStartup:    activities | stateful,
	abi.KindCleanup:    activities | stateful,
	abi.KindLogin:      activities | stateful,
	abi.KindProbe:      activities | stateful,
	abi.KindBackground: activities | stateful,
	abi.KindSub:        children | stateful | update,
}

// always allows an option for all kinds.
const always = ^group(0)

// options holds the groups of kinds that accept an option.
var options = map[string]group{
	"kind": always, "id": always, "fn": always, "param": always,
	"resource": objects,
	"errors":   stateful, "timeout": stateful, "retries": stateful, "backoff": stateful,

	"labels": objects | children, "annotations": objects | children, "when": objects | children,
	"field": objects | children, "value": objects | children,
	"old": update, "new": update,

	"optional": remove, "deleted": resume,
	"interval": timer, "idle": timer, "sharp": timer,
	"initial_delay":        timer | daemon,
	"cancellation_backoff": daemon, "cancellation_timeout": daemon, "cancellation_polling": daemon,

	"operations": admission, "subresource": admission,
	"persistent": admission, "side_effects": admission, "ignore_failures": admission,

	"from": convert, "to": convert,
}

// checkOptions refuses unknown kinds, and options that the kind does not accept.
func checkOptions(given map[string]json.RawMessage, child bool) error {
	var kind abi.Kind
	if err := json.Unmarshal(given["kind"], &kind); err != nil || kind == "" {
		return errors.New("it has no kind")
	}
	is, ok := kinds[kind]
	switch {
	case !ok:
		return fmt.Errorf("unknown kind %q", kind)
	case child && kind != abi.KindSub:
		return fmt.Errorf("the kind of a child is %q, not %q", abi.KindSub, kind)
	case !child && kind == abi.KindSub:
		return fmt.Errorf("the kind %q is only for children", abi.KindSub)
	}
	for _, name := range sortedNames(given) {
		allowed, known := options[name]
		switch {
		case !known:
			return fmt.Errorf("unknown option %s", name)
		case allowed&is == 0 && string(given[name]) != "null":
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
