package filters

import (
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// filter is one criterion for one value. The zero filter matches every value.
type filter struct {
	mode    mode
	literal any // the wanted value in mode equal
}

type mode int

const (
	anything mode = iota
	equal
	present
	absent
	function
)

// state is the state of an object that a value belongs to.
type state byte

const (
	current state = iota // the body
	former               // Subject.Old
	latter               // Subject.New
)

// observed is a value of the object, or its absence.
type observed struct {
	of    state
	value any
	there bool
}

// lookup returns the value of a field. Values that are not objects have no fields.
func lookup(of state, doc any, path []string) observed {
	value, there := dicts.Lookup(doc, path...)
	return observed{of, value, there}
}

// equals compares as Python does. An absent value equals only another absent value.
func (o observed) equals(p observed) bool {
	return o.there == p.there && (!o.there || dicts.Equal(o.value, p.value))
}

// parseFilter decodes a filter: a marker or a literal value. Null and an absent filter
// give the zero filter.
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

// decide reports whether any of the values matches. It returns Open for functions.
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
