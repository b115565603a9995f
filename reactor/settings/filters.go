package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Filters are label, field or shard selectors of objects by resource. The API server
// applies them.
//
// Kopf: kopf._cogs.configs.arrays.SelectorMapping (v1.45).
type Filters struct {
	list []filter
}

type filter struct {
	raw      json.RawMessage // the resource in its given form
	resource selectors.Selector
	objects  string // in the syntax of the API server
}

// Filter is one item of the JSON form of Filters.
type Filter struct {
	// Resource is a notation, or an object with the parts of a selector.
	Resource json.RawMessage `json:"resource"`

	// Selector is sent to the API server for the matching resources.
	Selector string `json:"selector"`
}

// All joins the selectors for a resource with commas, which mean a logical "and". They are
// sorted, without duplicates.
func (f Filters) All(r selectors.Resource) string {
	var found []string
	for _, item := range f.list {
		if item.resource.Check(r) {
			found = append(found, item.objects)
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), ",")
}

// First returns the first selector for a resource; empty if none matches.
func (f Filters) First(r selectors.Resource) string {
	for _, item := range f.list {
		if item.resource.Check(r) {
			return item.objects
		}
	}
	return ""
}

// Empty reports whether there are no filters.
func (f Filters) Empty() bool { return len(f.list) == 0 }

// UnmarshalJSON reads an object of selectors by resource, in its order:
// {"kopf.dev/v1/kopfexamples": "app=x", "*": "a"}; or a list of Filter.
func (f *Filters) UnmarshalJSON(data []byte) error {
	items, err := readFilters(data)
	if err != nil {
		return err
	}
	read := Filters{}
	for _, item := range items {
		spec, err := readResource(item.Resource)
		if err != nil {
			return err
		}
		resource, err := selectors.Parse(spec)
		switch {
		case err != nil:
			return err
		case resource.IsFunction():
			return fmt.Errorf("%s: functions cannot select here", item.Resource)
		case item.Selector == "":
			return fmt.Errorf("%s: the selector is empty", item.Resource)
		}
		read.list = append(read.list, filter{item.Resource, resource, item.Selector})
	}
	*f = read
	return nil
}

// MarshalJSON writes a list of Filter.
func (f Filters) MarshalJSON() ([]byte, error) {
	items := make([]Filter, len(f.list))
	for i, item := range f.list {
		items[i] = Filter{item.raw, item.objects}
	}
	return json.Marshal(items)
}

var errFilters = errors.New(`want an object of selectors by resources, like {"pods": "app=x"}, or a list, like [{"resource": {"category": "all"}, "selector": "app=x"}]`)

// readFilters reads both forms and keeps their order.
func readFilters(data []byte) ([]Filter, error) {
	var list []Filter
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := dicts.DecodeInto(data, &list); err != nil {
			return nil, fmt.Errorf("%w: %w", errFilters, err)
		}
		return list, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errFilters
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFilters, err)
		}
		var selector string
		if err := dec.Decode(&selector); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errFilters, name, err)
		}
		resource, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFilters, err)
		}
		list = append(list, Filter{resource, selector})
	}
	return list, nil
}

// readResource reads a resource with up to two slashes, in which * is everything, or the
// object form of registrations.
func readResource(data json.RawMessage) (abi.Selector, error) {
	var notation string
	if json.Unmarshal(data, &notation) != nil {
		var spec abi.Selector
		if err := dicts.DecodeInto(data, &spec); err != nil {
			return spec, fmt.Errorf("resource %.200s: want a notation, like kopf.dev/v1/kopfexamples, or an object: %w", data, err)
		}
		return spec, nil
	}
	var spec abi.Selector
	for _, part := range strings.Split(notation, "/") {
		raw, err := json.Marshal(part)
		if part == "*" {
			raw = []byte(`{"$":"EVERYTHING"}`)
		}
		if err != nil {
			return spec, fmt.Errorf("resource %q: %w", notation, err)
		}
		spec.Args = append(spec.Args, abi.Raw(raw))
	}
	return spec, nil
}
