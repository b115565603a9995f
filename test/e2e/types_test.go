package e2e_test

import "testing"

// TestGoTypes: a handler of typed specs does not run for a spec that does not fit; the error names
// the field, and the object gets it as an event. TestRustTypes is its twin.
func TestGoTypes(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{guest: "scripted", config: map[string]string{"handlers": "typed"}})
	s.create(t, "good", "{size: 5, zones: [{name: a}]}")
	s.create(t, "bad", "{size: 5, zones: [{name: a}, {name: 1}]}")
	s.create(t, "other", "{size: much}")

	if got := s.handled(t, "good").Object["status"].(map[string]any)["typed_fn"]; got != int64(10) {
		t.Errorf("result of the typed handler: %v", got)
	}
	for name, problem := range map[string]string{
		"bad":   "spec.zones[1].name: want a string, got a number",
		"other": "spec.size: want an integer, got a string",
	} {
		op.says(t, name, "error: Handler 'typed_fn' failed permanently: "+problem)
		if found := op.log.With(`"name":"`+name+`"`, "the typed handler runs"); len(found) > 0 {
			t.Errorf("the handler ran for %s: %v", name, found)
		}
		if got := text(s.posted(t, name, 1)["DecodeError"][0], "message"); got != problem {
			t.Errorf("event of %s: %q", name, got)
		}
	}
	op.says(t, "good", "the typed handler runs")
}
