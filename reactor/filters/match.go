package filters

import (
	"iter"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Subject is what criteria are checked against: one cause of one object.
type Subject struct {
	Body dicts.Object

	// Changing means that the cause has the states Old and New, which are nil if they do
	// not exist. Fields are looked up in these states, and in the body otherwise. The
	// states are essences; for sub-handlers of field handlers, they are values of the
	// field.
	Changing bool
	Old, New any

	// Unchanged keeps which fields are equal in both states, by their joined paths: thousands of
	// handlers may need a change of one large field. Nil keeps nothing.
	Unchanged map[string]bool
}

// Decision says whether a handler matches.
type Decision int

// These are the decisions. Open means that functions of the guest decide.
const (
	No Decision = iota
	Yes
	Open
)

// Result is a decision. For Open, it has the callbacks to ask; the handler matches if all of
// them hold.
type Result struct {
	Decision Decision
	open     []check
}

// Callbacks returns the callbacks to ask, in Kopf's order: labels, annotations, value, old, new,
// when. Results for one subject may share their texts.
func (r Result) Callbacks(texts *Texts) []abi.Callback {
	callbacks := make([]abi.Callback, len(r.open))
	for i, check := range r.open {
		callbacks[i] = check.callback(texts)
	}
	return callbacks
}

// Match decides whether the handler is called. It checks first what needs no guest, so
// that no callback runs for a handler that is excluded anyway.
//
// Kopf: kopf._core.intents.registries.match.
func (c *Criteria) Match(s Subject) Result {
	if c.isUnchanged(s) {
		return Result{Decision: No}
	}
	return c.evaluated(s, s.Changing)
}

// isUnchanged reports whether the handler needs a change of its field that did not happen.
func (c *Criteria) isUnchanged(s Subject) bool {
	if !s.Changing || !c.needsChange || len(c.field) == 0 {
		return false
	}
	if s.Unchanged == nil {
		return c.isEqual(s)
	}
	key := strings.Join(c.field, "\x00")
	unchanged, known := s.Unchanged[key]
	if !known {
		unchanged = c.isEqual(s)
		s.Unchanged[key] = unchanged
	}
	return unchanged
}

// isEqual compares the field in both states.
func (c *Criteria) isEqual(s Subject) bool {
	return lookup(former, s.Old, c.field).equals(lookup(latter, s.New, c.field))
}

// Prematch is Match without the criteria on changes. It decides whether the handler could
// be called for the object now or later. The operator leaves objects without such handlers
// alone.
//
// Kopf: kopf._core.intents.registries.prematch.
func (c *Criteria) Prematch(s Subject) Result {
	return c.evaluated(s, false)
}

// evaluated evaluates the checks. Most handlers have none.
func (c *Criteria) evaluated(s Subject, changes bool) Result {
	if len(c.labels)+len(c.annotations)+len(c.field) == 0 && c.when.mode == anything {
		return Result{Decision: Yes}
	}
	return evaluate(c.checks(s, changes))
}

// check is one filter with the values that it applies to.
type check struct {
	option string
	key    string
	filter filter
	path   dicts.Path // of the values; nil for labels and annotations
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
		if !yield(check{option, f.key, f.filter, nil, []observed{{current, value, there}}}) {
			return false
		}
	}
	return true
}

// checkField yields the new value before the old one: one match suffices, and authors
// think of the new value first.
func (c *Criteria) checkField(s Subject, changes bool, yield func(check) bool) bool {
	if len(c.field) == 0 {
		return true
	}
	if !s.Changing {
		return yield(check{option: "value", filter: c.value, path: c.field, values: []observed{lookup(current, s.Body, c.field)}})
	}
	before, after := lookup(former, s.Old, c.field), lookup(latter, s.New, c.field)
	if !yield(check{option: "value", filter: c.value, path: c.field, values: []observed{after, before}}) {
		return false
	}
	return !changes ||
		yield(check{option: "old", filter: c.old, path: c.field, values: []observed{before}}) &&
			yield(check{option: "new", filter: c.new, path: c.field, values: []observed{after}})
}

// evaluate stops at the first check that fails without a callback.
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
	return Result{Decision: Open, open: open}
}

func (c check) callback(texts *Texts) abi.Callback {
	callback := abi.Callback{Option: c.option, Key: c.key}
	for _, o := range c.values {
		value := abi.Value{Absent: !o.there}
		if o.there {
			value.Value = texts.of(c, o)
		}
		callback.Values = append(callback.Values, value)
	}
	return callback
}
