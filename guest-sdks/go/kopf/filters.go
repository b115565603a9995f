package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Cause is what a filter may look at: the object and what happened to it.
type Cause struct {
	Object
	Comparison

	// Value is the value that the filter is for: of the label, the annotation, or
	// the field. It is nothing if there is no such value, and for When.
	Value View

	Reason    string // of changes
	Type      string // of events; "" in the initial listing
	Operation string // of reviews
}

// newCause makes the argument of a filter of a task.
func newCause(t *guest.Task, value abi.Value) *Cause {
	c := &Cause{Reason: t.Call.Reason}
	c.compare(t)
	c.init(t)
	if !value.Absent {
		c.Value = View{&node{raw: value.Value, key: "value"}}
	}
	if t.Call.EventType != nil {
		c.Type = *t.Call.EventType
	}
	if a := t.Admission(); a != nil {
		c.Operation = a.Operation
	}
	return c
}

// Filter is a function that decides whether a handler is for a cause. Filters
// must be fast and have no effects. A panic fails the whole cycle of the object.
type Filter func(c *Cause) bool

// marker is a filter that is not a value.
type marker string

// Filters by presence.
const (
	Present marker = abi.Present // there is some value
	Absent  marker = abi.Absent  // there is none
)

// Label filters by the value of a label: a string, Present, Absent, or a Filter
// of Cause.Value.
//
// See https://docs.kopf.dev/en/latest/filters/
func Label(name string, value any) FilterOption {
	return setter(func(d *declaration) {
		if d.Labels == nil {
			d.Labels = map[string]abi.Raw{}
		}
		d.Labels[name] = d.filter("labels", name, value)
	})
}

// Annotation filters by the value of an annotation, as Label does.
func Annotation(name string, value any) FilterOption {
	return setter(func(d *declaration) {
		if d.Annotations == nil {
			d.Annotations = map[string]abi.Raw{}
		}
		d.Annotations[name] = d.filter("annotations", name, value)
	})
}

// Value filters by the value of the field: any value, Present, Absent, or a Filter
// of Cause.Value. In updates, either the old or the new value has to match.
func Value(value any) FilterOption {
	return setter(func(d *declaration) { d.Value = d.filter("value", "", value) })
}

// OldValue filters by the value of the field before the change, as Value does.
func OldValue(value any) UpdateOption {
	return setter(func(d *declaration) { d.Old = d.filter("old", "", value) })
}

// NewValue filters by the value of the field after the change, as Value does.
func NewValue(value any) UpdateOption {
	return setter(func(d *declaration) { d.New = d.filter("new", "", value) })
}

// When filters by everything that is known.
func When(filter Filter) FilterOption {
	return setter(func(d *declaration) { d.When = d.filter("when", "", filter) })
}

// filter is the form of a filter in the declaration. Functions stay here.
func (d *declaration) filter(option, key string, value any) abi.Raw {
	switch value := value.(type) {
	case marker:
		return abi.Raw(value)
	case func(*Cause) bool:
		return d.filter(option, key, Filter(value))
	case Filter:
		d.callback(option, key, func(t *guest.Task, v abi.Value) (any, error) {
			return value(newCause(t, v)), nil
		})
		return abi.Raw(abi.Function)
	}
	text, err := Encode(value)
	if err != nil {
		d.fail(err)
	}
	// Null alone is no filter. For labels it stays alone: the host refuses it.
	if key == "" && string(text) == "null" || JSON(text).Has("$") {
		text = append(append([]byte(`{"$":"VALUE","value":`), text...), '}')
	}
	return text
}

func (d *declaration) callback(option, key string, fn guest.Callback) {
	d.callbacks.Set(guest.Option{Name: option, Key: key}, fn)
}

// Not is true if the filter is not.
func Not(filter Filter) Filter { return func(c *Cause) bool { return !filter(c) } }

// All is true if all filters are.
func All(filters ...Filter) Filter {
	return func(c *Cause) bool {
		for _, filter := range filters {
			if !filter(c) {
				return false
			}
		}
		return true
	}
}

// Any is true if at least one of the filters is.
func Any(filters ...Filter) Filter {
	return func(c *Cause) bool {
		for _, filter := range filters {
			if filter(c) {
				return true
			}
		}
		return false
	}
}

// None is true if none of the filters is.
func None(filters ...Filter) Filter { return Not(Any(filters...)) }
