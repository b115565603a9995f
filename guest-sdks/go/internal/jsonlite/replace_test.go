package jsonlite

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

type part struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Any    any               `json:"any,omitempty"`
	Hidden int               `json:"-"`
}

type whole struct {
	Part    part            `json:"part"`
	Pointer *part           `json:"pointer,omitempty"`
	Parts   map[string]part `json:"parts,omitempty"`
	Own     *own            `json:"own,omitempty"`
	*meta
}

// own decodes itself, into fields that have other names.
type own struct{ content map[string]any }

func (o *own) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.content) }
func (o *own) MarshalJSON() ([]byte, error)    { return json.Marshal(o.content) }

// sized is an interface with methods.
type sized interface{ Size() int }

type page struct {
	Name string `json:"name"`
}

func (p *page) Size() int { return len(p.Name) }

func TestReplace(t *testing.T) {
	type object = map[string]any
	inner := &part{Name: "old", Hidden: 1}
	tests := []struct {
		name         string
		target, want any
		doc          object
		path         []string
	}{
		{"a field", &whole{Part: part{Hidden: 1}}, &whole{Part: part{Name: "n", Hidden: 1}}, object{"part": object{"name": "n"}}, []string{"part", "name"}},
		{"no other field", &whole{}, &whole{Part: part{Name: "n"}}, object{"part": object{"name": "n", "labels": object{"a": "b"}}}, []string{"part", "name"}},
		{"a deleted field", &whole{Part: part{Name: "old"}}, &whole{}, object{}, []string{"part", "name"}},
		{"null", &whole{Part: part{Name: "old"}}, &whole{}, object{"part": object{"name": nil}}, []string{"part", "name"}},
		{
			"a map without its old keys", &whole{Part: part{Labels: map[string]string{"old": "x"}}}, &whole{Part: part{Labels: map[string]string{"a": "b"}}},
			object{"part": object{"labels": object{"a": "b"}}},
			[]string{"part", "labels"},
		},
		{"behind a pointer", &whole{Pointer: inner}, &whole{Pointer: inner}, object{"pointer": object{"name": "old"}}, []string{"pointer", "name"}},
		{"behind no pointer", &whole{}, &whole{Pointer: &part{Name: "n"}}, object{"pointer": object{"name": "n"}}, []string{"pointer", "name"}},
		{
			"in a map of structs", &whole{Parts: map[string]part{"x": {Hidden: 1}}}, &whole{Parts: map[string]part{"x": {Name: "n", Hidden: 1}}},
			object{"parts": object{"x": object{"name": "n"}}},
			[]string{"parts", "x", "name"},
		},
		{"in no map", &whole{}, &whole{Parts: map[string]part{"x": {Name: "n"}}}, object{"parts": object{"x": object{"name": "n"}}}, []string{"parts", "x", "name"}},
		{"a type that decodes itself", &whole{Own: &own{}}, &whole{Own: &own{object{"a": object{"b": "c"}}}}, object{"own": object{"a": object{"b": "c"}}}, []string{"own", "a", "b"}},
		{"nothing to a field that is not there", &whole{}, &whole{}, object{"part": object{"absent": object{}}}, []string{"part", "absent"}},
		{
			"a pointer in an interface with methods",
			map[string]sized{"p": &page{Name: "old"}},
			map[string]sized{"p": &page{Name: "n"}},
			object{"p": object{"name": "n"}},
			[]string{"p", "name"},
		},
		{"a nil pointer there", map[string]sized{"p": (*page)(nil)}, map[string]sized{"p": &page{Name: "n"}}, object{"p": object{"name": "n"}}, []string{"p", "name"}},
		{"a key", object{"x": 1}, object{"x": 1, "a": object{"b": "c"}}, object{"a": object{"b": "c", "d": 1}, "x": 2}, []string{"a", "b"}},
		{"a deleted key", object{"a": object{"b": 1, "c": 2}}, object{"a": object{"c": 2}}, object{"a": object{}}, []string{"a", "b"}},
		{"a key with null", object{"a": 1}, object{"a": nil}, object{"a": nil}, []string{"a"}},
		{"the type in an interface", object{"a": map[string]string{"x": "y"}}, object{"a": map[string]string{"z": "1"}}, object{"a": object{"z": "1"}}, []string{"a"}},
		{"a struct in an interface", object{"a": part{Name: "old"}}, object{"a": object{"name": "n"}}, object{"a": object{"name": "n"}}, []string{"a", "name"}},
		{"a pointer in an interface", object{"a": &part{Hidden: 1}}, object{"a": &part{Name: "n", Hidden: 1}}, object{"a": object{"name": "n"}}, []string{"a", "name"}},
		{"another type in an interface", object{"a": 5}, object{"a": object{"b": "c"}}, object{"a": object{"b": "c"}}, []string{"a", "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := Replace(test.target, test.doc, test.path...); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(test.target, test.want) {
				t.Errorf("got %+v, want %+v", test.target, test.want)
			}
		})
	}
}

func TestReplaceWhatCannotBe(t *testing.T) {
	type object = map[string]any
	doc := object{"part": object{"name": 5, "labels": object{"a": 1}, "absent": "x"}, "deep": object{"er": "x"}, "name": "n", "bad": func() {}}
	tests := []struct {
		name   string
		target any
		path   []string
		want   string
	}{
		{"no pointer", whole{}, []string{"part"}, "value: want a map or a pointer to change, got none"},
		{"a nil pointer", (*whole)(nil), []string{"part"}, "value: want a map or a pointer to change, got none"},
		{"a nil map", object(nil), []string{"part"}, "value: want a map or a pointer to change, got none"},
		{"another type", &whole{}, []string{"part", "name"}, "part.name: want a string, got a number"},
		{"another type of items", object{"part": &part{Labels: map[string]string{"x": "y"}}}, []string{"part", "labels"}, "part.labels.a: want a string, got a number"},
		{"no such field", &whole{}, []string{"part", "absent"}, "part.absent: want a field of the struct, got none with this name"},
		{"behind a pointer that cannot be made", &whole{}, []string{"name"}, "name: want a field of the struct, got none with this name"},
		{"below a scalar", map[string]int{}, []string{"deep", "er"}, "deep: want nothing below (type int), got an object"},
		{"below keys that are no strings", map[int]any{}, []string{"deep"}, "value: want nothing (keys of maps must be strings), got an object"},
		{"in an interface with methods", map[string]error{}, []string{"part", "name"}, "part: want a type without methods, got an object"},
		{"what has no form in JSON", map[string]string{}, []string{"bad"}, "bad: a value of type func() has no form in JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Replace(test.target, doc, test.path...)
			var wrong *DecodeError
			if !errors.As(err, &wrong) || err.Error() != test.want {
				t.Errorf("got the error %v", err)
			}
		})
	}
	if kept := (&whole{Part: part{Labels: map[string]string{"x": "y"}}}); Replace(kept, doc, "part", "labels") == nil || kept.Part.Labels["x"] != "y" {
		t.Errorf("what was there is lost: %+v", kept)
	}
}
