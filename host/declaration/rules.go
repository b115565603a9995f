package declaration

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
)

// A rule reports whether the old value of a field covers the new one: whether the change
// asks for nothing more. A value is nil if the field is absent.
type rule func(has, wants json.RawMessage) bool

// The rules of each type by field name. A field without a rule must not change.
var (
	registrationRules = map[string]rule{
		"sdk": harmless, "operator": harmless, "lifecycle": harmless, "shared_tasks": harmless,
		"error":    harmless,                           // such a registration is refused
		"handlers": harmless, "capabilities": harmless, // have rules of their own
	}

	// isHarmless lists the fields of handlers that give no right: names, values that return
	// to the module, and the time of calls for objects that the handler sees in any case.
	isHarmless = map[string]bool{
		"id": true, "fn": true, "param": true,
		"errors": true, "timeout": true, "retries": true, "backoff": true,
		"interval": true, "sharp": true, "idle": true, "initial_delay": true, "cancellation_polling": true,
	}

	// handlerRules are the rules of the other fields.
	handlerRules = map[string]rule{
		"kind": same, "resource": same,

		// Which objects the handler sees.
		"labels": narrowerFilters, "annotations": narrowerFilters,
		"when": narrowerFilter, "field": narrowerFilter,
		"value": narrowerFilter, "old": narrowerFilter, "new": narrowerFilter,
		"deleted": notGained,

		// How long the handler delays the deletion of an object.
		"optional":             notLost,
		"cancellation_backoff": notLonger(false), "cancellation_timeout": notLonger(true),

		// Which requests to the API server the handler delays, denies or changes.
		"operations": narrowerList, "subresource": narrowerSubresource,
		"persistent": notGained, "side_effects": notGained,
		"ignore_failures": same, // either value changes the answer of some requests
		"from":            same, "to": same,
	}

	capabilityRules = map[string]rule{
		"kubernetes": harmless, "http": harmless, "config": harmless, // compared as sets
	}

	kubernetesRules = map[string]rule{
		"groups": withinOrAll, "resources": withinOrAll, "verbs": withinOrAll, "namespaces": narrowerNamespaces,
	}
)

func harmless(_, _ json.RawMessage) bool { return true }

func same(has, wants json.RawMessage) bool {
	if has == nil || wants == nil || bytes.Equal(has, wants) {
		return (has == nil) == (wants == nil)
	}
	is, err := equal(has, wants)
	return err == nil && is
}

// notGained allows a switch that is off, or that stays on.
func notGained(has, wants json.RawMessage) bool { return wants == nil || same(has, wants) }

// notLost allows a switch that is on, or that stays off.
func notLost(has, wants json.RawMessage) bool { return has == nil || same(has, wants) }

// narrowerFilter allows a filter that is new, that is unchanged, or that now requires one
// value instead of any value. The result of a function is unknown, so only its removal
// counts.
func narrowerFilter(has, wants json.RawMessage) bool {
	switch {
	case has == nil || same(has, wants):
		return true
	case wants == nil || !same(has, json.RawMessage(abi.Present)):
		return false
	}
	return !same(wants, json.RawMessage(abi.Absent)) && !same(wants, json.RawMessage(abi.Function))
}

// narrowerFilters allows filters by key that are new or narrower.
func narrowerFilters(has, wants json.RawMessage) bool {
	var before, after fields
	if has != nil && json.Unmarshal(has, &before) != nil || wants != nil && json.Unmarshal(wants, &after) != nil {
		return false
	}
	for key, filter := range before {
		if !narrowerFilter(filter, after[key]) {
			return false
		}
	}
	return true
}

// notLonger allows a time that is not longer. An absent time is zero or infinite.
func notLonger(forEver bool) rule {
	return func(has, wants json.RawMessage) bool {
		if has == nil && wants == nil {
			return true
		}
		if has == nil || wants == nil {
			return forEver == (has == nil)
		}
		var before, after float64
		return json.Unmarshal(has, &before) == nil && json.Unmarshal(wants, &after) == nil && after <= before
	}
}

// narrowerList allows a list without additions; an absent list means everything.
func narrowerList(has, wants json.RawMessage) bool {
	before, after, ok := lists(has, wants)
	return ok && (has == nil || wants != nil && without(after, before) == nil)
}

// narrowerSubresource allows an unchanged subresource, or one of formerly all subresources.
// An absent value means the object itself.
func narrowerSubresource(has, wants json.RawMessage) bool {
	return same(has, wants) || string(has) == `"*"` && wants != nil
}

// withinOrAll allows items of the old list; * there means everything.
func withinOrAll(has, wants json.RawMessage) bool {
	before, after, ok := lists(has, wants)
	return ok && (slices.Contains(before, "*") || without(after, before) == nil)
}

// narrowerNamespaces allows namespaces of the old list. An absent list means the namespaces
// that the operator serves, and * means all namespaces.
func narrowerNamespaces(has, wants json.RawMessage) bool {
	before, after, ok := lists(has, wants)
	switch {
	case !ok:
		return false
	case slices.Contains(before, "*"), len(before) == 0 && len(after) == 0:
		return true
	case len(before) == 0 || len(after) == 0:
		return false
	}
	return without(after, before) == nil
}

func lists(has, wants json.RawMessage) (before, after []string, ok bool) {
	ok = (has == nil || json.Unmarshal(has, &before) == nil) && (wants == nil || json.Unmarshal(wants, &after) == nil)
	return before, after, ok
}
