package filters

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// These are short notations of filters.
var (
	isPresent = raw(abi.Present)
	isAbsent  = raw(abi.Absent)
	asked     = raw(abi.Function)
)

func spec(key string, value any) dicts.Object {
	return dicts.Object{"spec": dicts.Object{key: value}}
}

func labelled(labels dicts.Object) dicts.Object {
	return dicts.Object{"metadata": dicts.Object{"labels": labels, "annotations": labels}}
}

func TestMatch(t *testing.T) {
	number := json.Number("1")
	body := func(doc dicts.Object) Subject { return Subject{Body: doc} }
	change := func(old, new any) Subject { return Subject{Changing: true, Old: old, New: new} }
	labels := func(filters map[string]abi.Raw) abi.Handler {
		return abi.Handler{Kind: abi.KindEvent, Labels: filters, Annotations: filters}
	}
	x := []string{"spec", "x"}

	for _, tt := range []struct {
		name     string
		handler  abi.Handler
		subject  Subject
		match    Decision
		prematch Decision
	}{
		{"no criteria", abi.Handler{Kind: abi.KindCreate}, Subject{}, Yes, Yes},
		{"a label", labels(map[string]abi.Raw{"a": raw(`"x"`)}), body(labelled(dicts.Object{"a": "x"})), Yes, Yes},
		{"another label", labels(map[string]abi.Raw{"a": raw(`"x"`)}), body(labelled(dicts.Object{"a": "y"})), No, No},
		{"all labels count", labels(map[string]abi.Raw{"a": raw(`"x"`), "b": isPresent}), body(labelled(dicts.Object{"a": "x"})), No, No},
		{"no labels at all", labels(map[string]abi.Raw{"a": isAbsent}), body(dicts.Object{}), Yes, Yes},
		{"labels of null", labels(map[string]abi.Raw{"a": isAbsent}), body(labelled(nil)), Yes, Yes},
		{
			"an annotation only",
			abi.Handler{Kind: abi.KindEvent, Annotations: map[string]abi.Raw{"a": isPresent}},
			body(dicts.Object{"metadata": dicts.Object{"labels": dicts.Object{"a": "x"}}}), No, No,
		},

		{"a field of the body", abi.Handler{Kind: abi.KindEvent, Field: x}, body(spec("x", nil)), Yes, Yes},
		{"no such field", abi.Handler{Kind: abi.KindEvent, Field: x}, body(spec("y", "a")), No, No},
		{
			"in something else than an object",
			abi.Handler{Kind: abi.KindEvent, Field: x, Value: isAbsent},
			body(dicts.Object{"spec": "text"}), Yes, Yes,
		},
		{
			"the body does not count in changes",
			abi.Handler{Kind: abi.KindCreate, Field: x},
			Subject{Body: spec("x", "a"), Changing: true, New: spec("y", "a")},
			No, No,
		},
		{
			"an equal object",
			abi.Handler{Kind: abi.KindEvent, Field: []string{"spec"}, Value: raw(`{"x":1}`)},
			body(spec("x", number)), Yes, Yes,
		},
		{
			"an object that looks like a marker",
			abi.Handler{Kind: abi.KindEvent, Field: x, Value: raw(`{"$":"VALUE","value":{"$":"PRESENT"}}`)},
			body(spec("x", dicts.Object{"$": "PRESENT"})), Yes, Yes,
		},
		{"a literal null", abi.Handler{Kind: abi.KindEvent, Field: x, Value: raw(`{"$":"VALUE","value":null}`)}, body(spec("x", nil)), Yes, Yes},
		{"a literal null is not absent", abi.Handler{Kind: abi.KindEvent, Field: x, Value: raw(`{"$":"VALUE","value":null}`)}, body(nil), No, No},
		{"numbers are equal as in Python", abi.Handler{Kind: abi.KindEvent, Field: x, Value: raw(`true`)}, body(spec("x", json.Number("1.0"))), Yes, Yes},

		{"an update of the field", abi.Handler{Kind: abi.KindUpdate, Field: x}, change(spec("x", "a"), spec("x", "b")), Yes, Yes},
		{"an update of another field", abi.Handler{Kind: abi.KindUpdate, Field: x}, change(spec("x", "a"), spec("x", "a")), No, Yes},
		{"from null to absent", abi.Handler{Kind: abi.KindField, Field: x}, change(spec("x", nil), spec("y", nil)), Yes, Yes},
		{"creation needs no change", abi.Handler{Kind: abi.KindCreate, Field: x}, change(spec("x", "a"), spec("x", "a")), Yes, Yes},
		{"either value is enough", abi.Handler{Kind: abi.KindUpdate, Field: x, Value: raw(`"a"`)}, change(spec("x", "a"), spec("x", "b")), Yes, Yes},
		{"neither value", abi.Handler{Kind: abi.KindUpdate, Field: x, Value: raw(`"c"`)}, change(spec("x", "a"), spec("x", "b")), No, No},
		{"absent before", abi.Handler{Kind: abi.KindUpdate, Field: x, Value: isAbsent}, change(nil, spec("x", "b")), Yes, Yes},
		{"old and new", abi.Handler{Kind: abi.KindUpdate, Field: x, Old: raw(`"a"`), New: raw(`"b"`)}, change(spec("x", "a"), spec("x", "b")), Yes, Yes},
		{"another old", abi.Handler{Kind: abi.KindUpdate, Field: x, Old: raw(`"c"`)}, change(spec("x", "a"), spec("x", "b")), No, Yes},
		{"another new", abi.Handler{Kind: abi.KindUpdate, Field: x, New: raw(`"a"`)}, change(spec("x", "a"), spec("x", "b")), No, Yes},
		{"absent in both", abi.Handler{Kind: abi.KindUpdate, Field: x, Old: isAbsent, New: isAbsent}, change(nil, nil), No, No},
		{
			"a list before, with a typed nil after",
			abi.Handler{Kind: abi.KindField, Field: x, New: isAbsent},
			change(spec("x", []any{number}), dicts.Object(nil)), Yes, Yes,
		},
		{"of values of a parent's field", abi.Handler{Kind: abi.KindField, Field: []string{"x"}}, change("text", dicts.Object{"x": number}), Yes, Yes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(tt.handler)
			if err != nil {
				t.Fatal(err)
			}
			match, prematch := c.Match(tt.subject).Decision, c.Prematch(tt.subject).Decision
			if match != tt.match || prematch != tt.prematch {
				t.Errorf("got %v and %v, want %v and %v", match, prematch, tt.match, tt.prematch)
			}
		})
	}
}

// everyOption has a function in each option that allows one.
func everyOption(change func(*abi.Handler)) abi.Handler {
	h := abi.Handler{
		Kind:        abi.KindUpdate,
		Labels:      map[string]abi.Raw{"b": asked, "a": asked, "c": raw(`"x"`)},
		Annotations: map[string]abi.Raw{"a": asked},
		Field:       []string{"spec", "x"},
		Old:         asked,
		New:         asked,
		When:        asked,
	}
	change(&h)
	return h
}

func TestWhatIsAsked(t *testing.T) {
	subject := Subject{
		Body:     labelled(dicts.Object{"a": "x", "c": "x"}),
		Changing: true,
		Old:      dicts.Object{},
		New:      spec("x", dicts.Object{"y": nil}),
	}
	for _, tt := range []struct {
		name     string
		handler  abi.Handler
		match    []string
		prematch []string
	}{
		{
			"all but value", everyOption(func(*abi.Handler) {}),
			[]string{`labels a "x"`, `labels b absent`, `annotations a "x"`, `old absent`, `new {"y":null}`, `when`},
			[]string{`labels a "x"`, `labels b absent`, `annotations a "x"`, `when`},
		},
		{
			"value, first for the new one", everyOption(func(h *abi.Handler) { h.Value, h.Old, h.New = asked, nil, nil }),
			[]string{`labels a "x"`, `labels b absent`, `annotations a "x"`, `value {"y":null} absent`, `when`},
			[]string{`labels a "x"`, `labels b absent`, `annotations a "x"`, `value {"y":null} absent`, `when`},
		},
		{"nothing after a declared label", everyOption(func(h *abi.Handler) { h.Labels["c"] = raw(`"y"`) }), nil, nil},
		{"nothing before a declared value", everyOption(func(h *abi.Handler) { h.Value, h.Old, h.New = raw(`1`), nil, nil }), nil, nil},
		{
			"nothing before a declared new value", everyOption(func(h *abi.Handler) { h.New = raw(`1`) }),
			nil,
			[]string{`labels a "x"`, `labels b absent`, `annotations a "x"`, `when`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(tt.handler)
			if err != nil {
				t.Fatal(err)
			}
			for name, pair := range map[string]struct {
				want []string
				got  Result
			}{"match": {tt.match, c.Match(subject)}, "prematch": {tt.prematch, c.Prematch(subject)}} {
				if diff := cmp.Diff(pair.want, shown(pair.got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if (pair.got.Decision == Open) != (len(pair.want) > 0) {
					t.Errorf("%s: decision %v", name, pair.got.Decision)
				}
			}
		})
	}
}

// No guest is asked about an update that did not change the field.
func TestNothingIsAskedWithoutChanges(t *testing.T) {
	c, err := Parse(abi.Handler{Kind: abi.KindField, Field: []string{"spec", "x"}, When: asked})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Match(Subject{Changing: true, Old: spec("x", "a"), New: spec("x", "a")})
	if got.Decision != No || len(got.open) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestTextsAreShared: handlers that ask about one value get one text of it, and what is kept is bounded.
func TestTextsAreShared(t *testing.T) {
	c, err := Parse(abi.Handler{Kind: abi.KindField, Field: []string{"spec", "x"}, New: asked, Old: asked})
	if err != nil {
		t.Fatal(err)
	}
	texts := &Texts{Most: 100}
	ask := func(old, new string) []abi.Raw {
		var all []abi.Raw
		for _, callback := range c.Match(Subject{Changing: true, Old: spec("x", old), New: spec("x", new)}).Callbacks(texts) {
			for _, value := range callback.Values {
				all = append(all, value.Value)
			}
		}
		return all
	}
	first := ask("a", "b")
	if got := fmt.Sprintf("%s", first); got != `["a" "b"]` {
		t.Error(got)
	}
	if again := ask("a", "b"); &again[0][0] != &first[0][0] {
		t.Error("the text of the old value is made twice")
	}
	*texts = Texts{Most: 100}
	ask(strings.Repeat("a", 90), strings.Repeat("b", 90))
	if texts.size > 100 || len(texts.known) > 1 {
		t.Errorf("%d bytes are kept of %d texts", texts.size, len(texts.known))
	}
}

func TestFieldsOfEventsAreAskedOnce(t *testing.T) {
	c, err := Parse(abi.Handler{Kind: abi.KindTimer, Field: []string{"spec", "x"}, Value: asked})
	if err != nil {
		t.Fatal(err)
	}
	got := shown(c.Match(Subject{Body: spec("x", "ü")}))
	if diff := cmp.Diff([]string{`value "\u00fc"`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func shown(r Result) []string {
	var list []string
	for _, callback := range r.Callbacks(&Texts{}) {
		parts := []string{callback.Option}
		if callback.Key != "" {
			parts = append(parts, callback.Key)
		}
		for _, value := range callback.Values {
			if value.Absent != (value.Value == nil) {
				parts = append(parts, fmt.Sprintf("contradictory: %+v", value))
			}
			text := string(value.Value)
			if value.Absent {
				text = "absent"
			}
			parts = append(parts, text)
		}
		list = append(list, strings.Join(parts, " "))
	}
	return list
}
