package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// toFilters makes the options that are filters.
func (in *interpreter) toFilters(name string, value any) ([]kopf.Option, error) {
	switch name {
	case "labels", "annotations":
		filters, err := into[object](value)
		var opts []kopf.Option
		for key, filter := range filters {
			if name == "labels" {
				opts = append(opts, one(kopf.Label(key, in.toFilter(filter, in.valueFunc)))...)
			} else {
				opts = append(opts, one(kopf.Annotation(key, in.toFilter(filter, in.valueFunc)))...)
			}
		}
		return opts, err
	case "value":
		return one(kopf.Value(in.toFilter(value, in.fieldFunc))), nil
	case "old":
		return one(kopf.OldValue(in.toFilter(value, in.fieldFunc))), nil
	case "new":
		return one(kopf.NewValue(in.toFilter(value, in.fieldFunc))), nil
	case "when":
		spec, err := into[object](value)
		return one(kopf.When(in.callback(spec, in.whenFunc))), err
	}
	return nil, nil
}

// toFilter is a marker, a callback, or a value.
func (in *interpreter) toFilter(value any, single func(object) kopf.Filter) any {
	spec, _ := value.(object)
	switch {
	case spec["$"] == "PRESENT":
		return kopf.Present
	case spec["$"] == "ABSENT":
		return kopf.Absent
	case spec["$fn"] != nil:
		return in.callback(spec, single)
	}
	return value
}

// callback makes a filter of its description: a combination, or a single function.
func (in *interpreter) callback(spec object, single func(object) kopf.Filter) kopf.Filter {
	list, isList := spec["arg"].([]any)
	if !isList {
		list = []any{spec["arg"]}
	}
	var filters []kopf.Filter
	for _, item := range list {
		if sub, ok := item.(object); ok && sub["$fn"] != nil {
			filters = append(filters, in.callback(sub, single))
		}
	}
	switch spec["$fn"] {
	case "not":
		return kopf.Not(filters[0])
	case "all":
		return kopf.All(filters...)
	case "any":
		return kopf.Any(filters...)
	case "none":
		return kopf.None(filters...)
	}
	return single(spec)
}

// unset is how the reference shows the absent value of a field to its callbacks:
// a marker that is not None, and equals nothing. For labels and annotations, it is None.
const unset = "<_UNSET>"

// fieldFunc is a filter of the value of a field.
func (in *interpreter) fieldFunc(spec object) kopf.Filter {
	name, present := spec["$fn"], in.valueFunc(spec)
	return func(c *kopf.Cause) bool {
		if c.Value.Exists() {
			return present(c)
		}
		if spec["log"] != nil {
			in.emit(object{"callback": name, "value": unset, "kwargs": nil})
		}
		return name == "ne" || name == "broken_if" || name == "true"
	}
}

// valueFunc is a filter of a value.
func (in *interpreter) valueFunc(spec object) kopf.Filter {
	name, arg := spec["$fn"], spec["arg"]
	return func(c *kopf.Cause) bool {
		value := normal(c.Value)
		if spec["log"] != nil {
			in.emit(object{"callback": name, "value": value, "kwargs": nil})
		}
		switch name {
		case "eq":
			return equal(value, arg)
		case "ne":
			return !equal(value, arg)
		case "in":
			return contains(arg, value)
		case "gt":
			return more(value, normal(arg))
		case "is_none":
			return value == nil
		case "is_str":
			return c.Value.IsString()
		case "true", "false":
			return name == "true"
		case "broken_if":
			if equal(value, arg) {
				panic(errors.New("a broken filter"))
			}
			return true
		}
		panic(errors.New("unknown callback"))
	}
}

// whenFunc is a filter of everything.
func (in *interpreter) whenFunc(spec object) kopf.Filter {
	name, arg := spec["$fn"], spec["arg"]
	return func(c *kopf.Cause) bool {
		if spec["log"] != nil {
			in.emit(object{"callback": name, "when": spec["tag"]})
		}
		switch name {
		case "spec_eq":
			pair, _ := arg.([]any)
			key, _ := pair[0].(string)
			return equal(normal(c.Spec.Get(key)), pair[1])
		case "has_spec":
			key, _ := arg.(string)
			return c.Spec.Has(key)
		case "name_eq":
			return c.Name == arg
		case "reason_is":
			return c.Reason == arg
		case "event_type_is":
			return equal(nullable(c.Type), arg)
		case "operation_is":
			return c.Operation == arg
		case "true", "false":
			return name == "true"
		}
		panic(errors.New("unknown callback"))
	}
}

// more compares numbers, also those beyond 2^53, which are whole: floats cannot tell them apart.
func more(a, b any) bool {
	x, wholeX, isNumber := number(a)
	y, wholeY, hasLimit := number(b)
	return isNumber && hasLimit && (x > y || x == y && wholeX > wholeY)
}

// number is a number, with its whole part.
func number(value any) (float float64, whole int64, ok bool) {
	switch value := value.(type) {
	case float64:
		return value, int64(value), true
	case int64:
		return float64(value), value, true
	}
	return 0, 0, false
}

func equal(a, b any) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// contains is Python's "in", for lists, maps and strings.
func contains(container, value any) bool {
	switch container := container.(type) {
	case []any:
		return slices.ContainsFunc(container, func(item any) bool { return equal(item, value) })
	case object:
		key, isText := value.(string)
		_, found := container[key]
		return isText && found
	case string:
		text, isText := value.(string)
		return isText && strings.Contains(container, text)
	}
	return false
}

// nullable is null for an empty string.
func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}
