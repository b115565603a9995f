package filters

import (
	"iter"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Subject is what criteria are checked against: one cause of one object.
type Subject struct {
	Body dicts.Object

	// Changing says that the cause has a state before and after, Old and New: nil
	// if there is none. Fields are looked up there, and in the body otherwise.
	// They are essences, or the field's values for sub-handlers of field handlers.
	Changing bool
	Old, New any
}

// Decision tells whether a handler is for an object.
type Decision int

// The decisions. Open means that functions of the guest decide.
const (
	No Decision = iota
	Yes
	Open
)

// Result is a decision, and for an open one, what to ask the guest: if all the
// callbacks hold, it is a match. They are in the order of the reference: labels,
// annotations, value, old, new, when.
type Result struct {
	Decision  Decision
	Callbacks []abi.Callback
}

// Match tells whether the handler is to be called. What can be decided without
// the guest is decided first: nothing is asked for a handler that is excluded.
//
// Kopf: kopf._core.intents.registries.match.
func (c *Criteria) Match(s Subject) Result {
	if s.Changing && c.needsChange && len(c.field) > 0 {
		if lookup(s.Old, c.field).equals(lookup(s.New, c.field)) {
			return Result{Decision: No}
		}
	}
	return evaluate(c.checks(s, s.Changing))
}

// Prematch is Match regardless of what has changed: it tells whether the object
// is one that the handler can be called for at all, now or later. Objects
// without such handlers are left alone.
//
// Kopf: kopf._core.intents.registries.prematch.
func (c *Criteria) Prematch(s Subject) Result {
	return evaluate(c.checks(s, false))
}

// check is one filter and the values that it is for.
type check struct {
	option string
	key    string
	filter filter
	values []observed
}

// checks yields all checks of the handler in their order.
func (c *Criteria) checks(s Subject, changes bool) iter.Seq[check] {
	return func(yield func(check) bool) {
		_ = checkMetadata("labels", c.labels, s.Body, yield) &&
			checkMetadata("annotations", c.annotations, s.Body, yield) &&
			c.checkField(s, changes, yield) &&
			(c.when.mode == anything || yield(check{option: "when", filter: c.when}))
	}
}

func checkMetadata(option string, filters []metaFilter, body dicts.Object, yield func(check) bool) bool {
	if len(filters) == 0 {
		return true
	}
	content := dicts.LookupObject(body, "metadata", option)
	for _, f := range filters {
		value, there := content[f.key]
		if !yield(check{option, f.key, f.filter, []observed{{value, there}}}) {
			return false
		}
	}
	return true
}

// checkField yields the new value before the old one, since one that passes is
// enough, and the new one is what authors think of first.
func (c *Criteria) checkField(s Subject, changes bool, yield func(check) bool) bool {
	if len(c.field) == 0 {
		return true
	}
	if !s.Changing {
		return yield(check{option: "value", filter: c.value, values: []observed{lookup(s.Body, c.field)}})
	}
	before, after := lookup(s.Old, c.field), lookup(s.New, c.field)
	if !yield(check{option: "value", filter: c.value, values: []observed{after, before}}) {
		return false
	}
	return !changes ||
		yield(check{option: "old", filter: c.old, values: []observed{before}}) &&
			yield(check{option: "new", filter: c.new, values: []observed{after}})
}

// evaluate stops at the first check that fails without asking.
func evaluate(checks iter.Seq[check]) Result {
	var open []check
	for check := range checks {
		switch check.filter.decide(check.values) {
		case No:
			return Result{Decision: No}
		case Open:
			open = append(open, check)
		}
	}
	if len(open) == 0 {
		return Result{Decision: Yes}
	}
	callbacks := make([]abi.Callback, len(open))
	for i, check := range open {
		callbacks[i] = check.callback()
	}
	return Result{Decision: Open, Callbacks: callbacks}
}

func (c check) callback() abi.Callback {
	callback := abi.Callback{Option: c.option, Key: c.key}
	for _, o := range c.values {
		value := abi.Value{Absent: !o.there}
		if o.there {
			value.Value = dicts.Encode(o.value)
		}
		callback.Values = append(callback.Values, value)
	}
	return callback
}
