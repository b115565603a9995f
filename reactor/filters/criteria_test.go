package filters

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

func raw(text string) abi.Raw { return abi.Raw(text) }

func TestParseRefuses(t *testing.T) {
	field := []string{"spec", "x"}
	for _, tt := range []struct {
		name    string
		handler abi.Handler
		want    string // in the message
	}{
		{"a value without a field", abi.Handler{Kind: abi.KindCreate, Value: raw(`1`)}, "need a field"},
		{"an old value without a field", abi.Handler{Kind: abi.KindUpdate, Old: raw(`1`)}, "need a field"},
		{"a field handler without a field", abi.Handler{Kind: abi.KindField}, "the field is missing"},
		{"value and old", abi.Handler{Kind: abi.KindUpdate, Field: field, Value: raw(`1`), Old: raw(`2`)}, "not both"},
		{"value and new", abi.Handler{Kind: abi.KindField, Field: field, Value: raw(`1`), New: raw(`2`)}, "not both"},
		{"old for creation", abi.Handler{Kind: abi.KindCreate, Field: field, Old: raw(`1`)}, "only for update and field"},
		{"new for events", abi.Handler{Kind: abi.KindEvent, Field: field, New: raw(`1`)}, "only for update and field"},
		{"a label of null", abi.Handler{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`null`)}}, `labels "a"`},
		{"an annotation of null", abi.Handler{Kind: abi.KindEvent, Annotations: map[string]abi.Raw{"b": nil}}, `annotations "b"`},
		{"when that is not a function", abi.Handler{Kind: abi.KindEvent, When: raw(`true`)}, "when must be a function"},
		{"no operations", abi.Handler{Kind: abi.KindValidate, Operations: []string{}}, "operations are empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.handler)
			if !errors.Is(err, ErrContradiction) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestParseRefusesMalformedFilters(t *testing.T) {
	for _, text := range []string{
		`{`, `1 2`,
		`{"$":"NONE"}`, `{"$":"EVERYTHING"}`, `{"$":1}`, `{"$":"PRESENT","x":1}`, `{"$":"VALUE"}`,
		`{"$":"VALUE","value":1,"x":2}`, `{"$":"ABSENT","value":1}`,
	} {
		t.Run(text, func(t *testing.T) {
			h := abi.Handler{Kind: abi.KindEvent, Field: []string{"x"}, Value: raw(text)}
			if _, err := Parse(h); err == nil || !strings.HasPrefix(err.Error(), "value: ") {
				t.Errorf("got %v, want an error of the option value", err)
			}
		})
	}
}

func TestParseChild(t *testing.T) {
	field := []string{"spec", "x"}
	parents := map[string]abi.Handler{
		"update": {Kind: abi.KindUpdate},
		"create": {Kind: abi.KindCreate},
		"resume": {Kind: abi.KindResume},
		"field":  {Kind: abi.KindField, Field: field},
	}
	child := abi.Handler{Kind: abi.KindSub, Field: field, Old: raw(`1`)}
	for name, refused := range map[string]bool{"update": false, "field": false, "create": true, "resume": true} {
		parent, err := Parse(parents[name])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseChild(child, parent); errors.Is(err, ErrContradiction) != refused {
			t.Errorf("old in a child of %s: got error %v", name, err)
		}
		nested, err := ParseChild(abi.Handler{Kind: abi.KindSub}, parent)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseChild(child, nested); err != nil {
			t.Errorf("old in a child of a child of %s: %v", name, err)
		}
	}
}

// Sub-handlers need a change of their field if their parent handles changes.
func TestChildrenInheritTheNeedForChanges(t *testing.T) {
	same := Subject{Changing: true, Old: spec("x", "a"), New: spec("x", "a")}
	child := abi.Handler{Kind: abi.KindSub, Field: []string{"spec", "x"}}
	for kind, want := range map[abi.Kind]Decision{abi.KindCreate: Yes, abi.KindUpdate: No} {
		parent, err := Parse(abi.Handler{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		nested, err := ParseChild(abi.Handler{Kind: abi.KindSub}, parent)
		if err != nil {
			t.Fatal(err)
		}
		for depth, parent := range []Criteria{parent, nested} {
			c, err := ParseChild(child, parent)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Match(same).Decision; got != want {
				t.Errorf("%s, depth %d: got %v, want %v", kind, depth, got, want)
			}
		}
	}
}

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verdict abi.Verdict
		want    bool
		problem string // in the message of the error
	}{
		{"true", abi.Verdict{Value: raw(`true`)}, true, ""},
		{"false", abi.Verdict{Value: raw(` false`)}, false, ""},
		{"null", abi.Verdict{Value: raw(`null`)}, false, "not \"null\""},
		{"nothing", abi.Verdict{}, false, "true or false"},
		{"a number", abi.Verdict{Value: raw(`1`)}, false, "not \"1\""},
		{"not JSON", abi.Verdict{Value: raw(`{`)}, false, "true or false"},
		{"an error", abi.Verdict{Error: &abi.Error{Message: "boo"}, Value: raw(`true`)}, false, "boo"},
		{"an error without a message", abi.Verdict{Error: &abi.Error{Type: "KeyError"}}, false, "KeyError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Holds(tt.verdict)
			if got != tt.want || errors.Is(err, ErrAnswer) != (tt.problem != "") {
				t.Fatalf("got %t and error %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %q, want %q in it", err, tt.problem)
			}
		})
	}
}
