package filters

import (
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// filter is one criterion for one value. The zero filter lets everything pass.
type filter struct {
	mode    mode
	literal any // mode equal: the wanted value
}

type mode int

const (
	anything mode = iota
	equal
	present
	absent
	function
)

// observed is a value of the object, or its absence.
type observed struct {
	value any
	there bool
}

// lookup finds the value of a field. What is not an object has no fields.
func lookup(doc any, path []string) observed {
	value, there := dicts.Lookup(doc, path...)
	return observed{value, there}
}

// equals compares as Python does, where absent equals nothing but absent.
func (o observed) equals(p observed) bool {
	return o.there == p.there && (!o.there || dicts.Equal(o.value, p.value))
}

// parseFilter reads a filter: a marker or a literal value. Null and nothing at
// all are the zero filter.
func parseFilter(raw abi.Raw) (filter, error) {
	if raw.IsNull() {
		return filter{}, nil
	}
	value, err := dicts.Decode(raw)
	if err != nil {
		return filter{}, err
	}
	if obj, ok := value.(dicts.Object); ok {
		if _, marked := obj["$"]; marked {
			return parseMarker(obj)
		}
	}
	return filter{mode: equal, literal: value}, nil
}

var errMarker = errors.New(`an object with the key "$" must be one of ` +
	`{"$":"PRESENT"}, {"$":"ABSENT"}, {"$":"FUNCTION"}, {"$":"VALUE","value":…}`)

func parseMarker(obj dicts.Object) (filter, error) {
	if value, ok := obj["value"]; ok && len(obj) == 2 && obj["$"] == "VALUE" {
		return filter{mode: equal, literal: value}, nil
	}
	if len(obj) == 1 {
		switch obj["$"] {
		case "PRESENT":
			return filter{mode: present}, nil
		case "ABSENT":
			return filter{mode: absent}, nil
		case "FUNCTION":
			return filter{mode: function}, nil
		}
	}
	return filter{}, fmt.Errorf("%w, not %s", errMarker, dicts.Encode(obj))
}

// decide tells whether any of the values passes. Functions leave it open.
func (f filter) decide(values []observed) Decision {
	if f.mode == function {
		return Open
	}
	for _, o := range values {
		if f.passes(o) {
			return Yes
		}
	}
	return No
}

func (f filter) passes(o observed) bool {
	switch f.mode {
	case equal:
		return o.there && dicts.Equal(f.literal, o.value)
	case present:
		return o.there
	case absent:
		return !o.there
	default:
		return true
	}
}
