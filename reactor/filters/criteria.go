// Package filters decides whether a handler matches an object: by labels and annotations,
// by a field with its old and new value, and by functions of the guest. The package is
// pure: it returns the functions that the caller must ask.
//
// Kopf: kopf._core.intents.registries (match, prematch), kopf._core.intents.filters
// (v1.45).
package filters

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// ErrContradiction means that filters contradict each other, or the kind of their handler.
var ErrContradiction = errors.New("contradictory filters")

// Criteria are the decoded filters of one handler. They are read-only, and safe for
// concurrent use. The zero Criteria match every object.
//
// See https://docs.kopf.dev/en/latest/filters/
type Criteria struct {
	labels      []metaFilter
	annotations []metaFilter
	when        filter
	field       dicts.Path
	value       filter
	old, new    filter

	kind        abi.Kind
	needsChange bool // the field must differ between the old and the new state
}

// metaFilter is the filter of one label or annotation.
type metaFilter struct {
	key    string
	filter filter
}

// Parse decodes the filters of a handler.
//
// Errors: ErrContradiction; a filter that is not JSON; an unknown marker. Errors name the
// option, but not the handler.
func Parse(h abi.Handler) (Criteria, error) {
	forChanges := h.Kind == abi.KindUpdate || h.Kind == abi.KindField
	return parse(h, forChanges, forChanges)
}

// ParseChild is Parse for a sub-handler. Sub-handlers of handlers that require a change
// also require it.
func ParseChild(h abi.Handler, parent Criteria) (Criteria, error) {
	return parse(h, parent.needsChange, parent.needsChange || parent.kind == abi.KindSub)
}

// parse decodes the filters. Old and new are allowed only if seesChanges is true.
func parse(h abi.Handler, needsChange, seesChanges bool) (Criteria, error) {
	c := Criteria{kind: h.Kind, field: h.Field, needsChange: needsChange}
	if err := c.decode(h); err != nil {
		return Criteria{}, err
	}
	if err := c.verify(h, seesChanges); err != nil {
		return Criteria{}, err
	}
	if len(c.field) > 0 && c.value.mode == anything {
		c.value.mode = present // without a wanted value, the field must exist
	}
	return c, nil
}

// Label is a label that an object must have.
type Label struct {
	Key   string
	Value string
	Any   bool // the value does not matter; Value is empty
}

// RequiredLabels returns labels without which no object matches. Further filters may exist.
func (c *Criteria) RequiredLabels() []Label {
	var labels []Label
	for _, f := range c.labels {
		switch text, isText := f.filter.literal.(string); {
		case f.filter.mode == present:
			labels = append(labels, Label{Key: f.key, Any: true})
		case f.filter.mode == equal && isText:
			labels = append(labels, Label{Key: f.key, Value: text})
		}
	}
	return labels
}

// Cost estimates how long the evaluation takes, as the size of a text that takes as long to read.
func (c *Criteria) Cost() int {
	const each = 64
	return each * (1 + len(c.labels) + len(c.annotations) + len(c.field))
}

// Field returns the path of the handler's field; empty if it has none.
func (c *Criteria) Field() dicts.Path { return c.field }

func (c *Criteria) decode(h abi.Handler) (err error) {
	if c.labels, err = parseMetaFilters("labels", h.Labels); err != nil {
		return err
	}
	if c.annotations, err = parseMetaFilters("annotations", h.Annotations); err != nil {
		return err
	}
	for _, option := range []struct {
		name string
		raw  abi.Raw
		into *filter
	}{
		{"value", h.Value, &c.value},
		{"old", h.Old, &c.old},
		{"new", h.New, &c.new},
		{"when", h.When, &c.when},
	} {
		if *option.into, err = parseFilter(option.raw); err != nil {
			return fmt.Errorf("%s: %w", option.name, err)
		}
	}
	return nil
}

// parseMetaFilters sorts the filters by key. JSON loses the order of declaration, which
// does not affect the outcome.
func parseMetaFilters(option string, raw map[string]abi.Raw) ([]metaFilter, error) {
	list := make([]metaFilter, 0, len(raw))
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		f, err := parseFilter(raw[key])
		if err == nil && f.mode == anything {
			err = fmt.Errorf("%w: null is not supported, use PRESENT or ABSENT", ErrContradiction)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", option, key, err)
		}
		list = append(list, metaFilter{key, f})
	}
	return list, nil
}

// verify rejects what Kopf rejects at the declaration.
func (c *Criteria) verify(h abi.Handler, seesChanges bool) error {
	hasValue := c.value.mode != anything
	hasChange := c.old.mode != anything || c.new.mode != anything
	switch {
	case c.kind == abi.KindField && len(c.field) == 0:
		return fmt.Errorf("%w: the field is missing", ErrContradiction)
	case (hasValue || hasChange) && len(c.field) == 0:
		return fmt.Errorf("%w: value, old, and new need a field", ErrContradiction)
	case hasValue && hasChange:
		return fmt.Errorf("%w: either value or old and new can be given, not both", ErrContradiction)
	case hasChange && !seesChanges:
		return fmt.Errorf("%w: old and new are only for update and field handlers", ErrContradiction)
	case h.Operations != nil && len(h.Operations) == 0:
		return fmt.Errorf("%w: operations are empty, so there are no reviews to handle", ErrContradiction)
	case c.when.mode != anything && c.when.mode != function:
		return fmt.Errorf("%w: when must be a function", ErrContradiction)
	default:
		return nil
	}
}
