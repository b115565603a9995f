package vectors

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

var matchingFunctions = map[string]Function{
	"filters-metadata": {Call: matchMetadata},
	"filters-values":   {Call: matchValues},
	"filters-changes":  {Call: matchChanges},
	"declarations":     {Call: declare, Equal: sameParts},
	"json-patches":     {Call: patchForAdmission, Equal: sameInAnyOrder},
}

// callbacks are the functions of a recording, by option or by option and key.
type callbacks map[string]dicts.Object

// take makes a filter of a recorded one: a callback becomes the marker for it.
func (c callbacks) take(name string, filter any) abi.Raw {
	if fn, _ := filter.(dicts.Object); fn["$fn"] != nil {
		c[name] = fn
		return abi.Raw(abi.Function)
	}
	return abi.Raw(dicts.Encode(filter))
}

func (c callbacks) takeAll(option string, doc any) map[string]abi.Raw {
	filters := map[string]abi.Raw{}
	recorded, _ := doc.(dicts.Object)
	for key, filter := range recorded {
		filters[key] = c.take(option+key, filter)
	}
	return filters
}

// match tells what becomes of an object, with the callbacks asked as a guest is.
func (c callbacks) match(h abi.Handler, s filters.Subject) (any, error) {
	criteria, err := filters.Parse(h)
	if err != nil {
		return nil, err
	}
	matched, err := c.settle(criteria.Match(s))
	if err != nil {
		return nil, err
	}
	prematched, err := c.settle(criteria.Prematch(s))
	return dicts.Object{"match": matched, "prematch": prematched}, err
}

func (c callbacks) settle(r filters.Result) (bool, error) {
	if r.Decision != filters.Open {
		return r.Decision == filters.Yes, nil
	}
	for _, callback := range r.Callbacks(&filters.Texts{}) {
		holds := false
		for _, value := range callback.Values {
			answer, err := c.answer(callback, value)
			if err != nil {
				return false, err
			}
			holds = holds || answer
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// answer is what a callback says of a value. An absent field was an object of
// Python in the recordings, which is true and equals nothing; an absent label or
// annotation was null.
func (c callbacks) answer(callback abi.Callback, value abi.Value) (bool, error) {
	fn := c[callback.Option+callback.Key]
	if value.Absent && callback.Option != "labels" && callback.Option != "annotations" {
		return fn["$fn"] == "truthy", nil
	}
	var doc any
	if !value.Absent {
		var err error
		if doc, err = dicts.Decode(value.Value); err != nil {
			return false, err
		}
	}
	switch fn["$fn"] {
	case "eq":
		return dicts.Equal(doc, fn["arg"]), nil
	case "is_none":
		return doc == nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "truthy":
		return truthy(doc), nil
	default:
		return false, fmt.Errorf("unknown callback %v", fn["$fn"])
	}
}

func truthy(doc any) bool {
	switch doc := doc.(type) {
	case nil:
		return false
	case string:
		return doc != ""
	case dicts.Object:
		return len(doc) > 0
	case []any:
		return len(doc) > 0
	default:
		return !dicts.Equal(doc, json.Number("0"))
	}
}

func matchMetadata(c Case) (any, error) {
	asked := callbacks{}
	body := dicts.LookupObject(c.In, "body")
	h := abi.Handler{
		Kind:        abi.KindCreate,
		Labels:      asked.takeAll("labels", c.In["labels"]),
		Annotations: asked.takeAll("annotations", c.In["annotations"]),
	}
	return asked.match(h, filters.Subject{Body: body, Changing: true, New: body})
}

func matchValues(c Case) (any, error) {
	asked := callbacks{}
	return asked.matchField(c, abi.Handler{Kind: abi.KindCreate, Value: asked.take("value", c.In["value"])})
}

func matchChanges(c Case) (any, error) {
	asked := callbacks{}
	return asked.matchField(c, abi.Handler{
		Kind: abi.KindUpdate, Old: asked.take("old", c.In["old"]), New: asked.take("new", c.In["new"]),
	})
}

func (c callbacks) matchField(recorded Case, h abi.Handler) (any, error) {
	field, err := dicts.ParsePath(recorded.In["field"])
	if err != nil {
		return nil, err
	}
	h.Field = field
	return c.match(h, filters.Subject{
		Changing: true, Old: recorded.In["old_essence"], New: recorded.In["new_essence"],
	})
}

// declare makes a handler of a decorator with its arguments. What it answers is
// what the reactor derives; the options themselves are only handed through.
func declare(c Case) (any, error) {
	options := maps.Clone(dicts.LookupObject(c.In, "kwargs"))
	field, err := dicts.ParsePath(options["field"])
	if err != nil {
		return nil, err
	}
	if operation, ok := options["operation"]; ok { // the deprecated form of a list of one
		operations, _ := options["operations"].([]any)
		options["operations"] = append([]any{operation}, operations...)
	}
	delete(options, "field")
	h := abi.Handler{ID: "fn"}
	if err := json.Unmarshal(dicts.Encode(options), &h); err != nil {
		return nil, err
	}
	h.Kind, h.Field = abi.Kind(dicts.LookupString(c.In, "decorator")), field
	if _, err := filters.Parse(h); err != nil {
		return nil, err
	}
	parts := dicts.Object{"id": ids.Registered(h)}
	if len(h.Field) > 0 {
		parts["field"] = dicts.List(h.Field)
	}
	return parts, declareSelector(c, h, parts)
}

// declareSelector adds the selector to the parts of a handler for objects.
func declareSelector(c Case, h abi.Handler, parts dicts.Object) error {
	switch h.Kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe:
		return nil
	}
	spec, err := selectorOf(c)
	if err != nil {
		return err
	}
	selector, err := selectors.Parse(spec)
	parts["selector"] = selector.String()
	return err
}

// sameParts compares the parts that are there.
func sameParts(c Case, got any) bool {
	want, _ := c.Out.(dicts.Object)
	for key, part := range got.(dicts.Object) {
		if !sameJSON(want[key], part) {
			return false
		}
	}
	return true
}

func patchForAdmission(c Case) (any, error) {
	body := dicts.LookupObject(c.In, "body")
	wanted, err := patches.Apply(body, dicts.LookupObject(c.In, "patch"))
	if err != nil {
		return nil, err
	}
	operations := patches.Diff(body, wanted)
	list := make([]any, len(operations))
	for i, operation := range operations {
		list[i] = operation.JSON()
	}
	return list, err
}
