package filters

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

func TestExplainNamesEachFilterThatDoesNotHold(t *testing.T) {
	body := dicts.Object{"metadata": dicts.Object{"labels": dicts.Object{"a": "x"}}}
	h := abi.Handler{
		Kind: abi.KindUpdate, Field: []string{"spec", "x"}, New: raw(`"c"`), When: raw(`{"$":"FUNCTION"}`),
		Labels: map[string]abi.Raw{"a": raw(`"y"`), "b": raw(`{"$":"PRESENT"}`)}, Annotations: map[string]abi.Raw{"n": raw(`{"$":"ABSENT"}`)},
	}
	c, err := Parse(h)
	if err != nil {
		t.Fatal(err)
	}
	decision, findings := c.Explain(Subject{Body: body, Changing: true, Old: spec("x", "b"), New: spec("x", "b")})
	want := []Finding{
		{Option: "field", Key: "spec.x", Wanted: "CHANGED", Found: []string{`"b"`, `"b"`}},
		{Option: "labels", Key: "a", Wanted: `"y"`, Found: []string{`"x"`}},
		{Option: "labels", Key: "b", Wanted: "PRESENT", Found: []string{"ABSENT"}},
		{Option: "new", Key: "spec.x", Wanted: `"c"`, Found: []string{`"b"`}},
		{Option: "when", Open: true, Wanted: "FUNCTION"},
	}
	if diff := cmp.Diff(want, findings); diff != "" || decision != No {
		t.Errorf("%v (-want +got):\n%s", decision, diff)
	}
}

// What is explained is what happens: both decide alike for any declaration and any object.
func FuzzExplainAgreesWithMatch(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		for range 20 {
			declared := randomHandler(random)
			c, err := Parse(declared)
			if err != nil {
				continue // the declaration contradicts itself
			}
			s := randomSubject(random)
			matched := c.Match(s)
			decision, findings := c.Explain(s)
			if decision != matched.Decision {
				t.Fatalf("explained as %v, but it is %v\n%s\n%s", decision, matched.Decision, show(declared), show(s))
			}
			open := 0
			for _, finding := range findings {
				if finding.Open {
					open++
				}
			}
			if decision == Open && open != len(matched.open) || decision == No && open == len(findings) {
				t.Fatalf("%v with %d open findings and %d callbacks: %+v", decision, open, len(matched.open), findings)
			}
		}
	})
}

func show(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func randomHandler(random *rand.Rand) abi.Handler {
	kinds := []abi.Kind{abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField, abi.KindEvent, abi.KindDaemon, abi.KindValidate}
	h := abi.Handler{Kind: kinds[random.IntN(len(kinds))], Labels: randomMeta(random), Annotations: randomMeta(random)}
	if random.IntN(3) > 0 {
		h.Field = [][]string{{"spec", "x"}, {"spec"}, {"metadata", "labels", "a"}, {"absent"}}[random.IntN(4)]
	}
	for _, option := range []*abi.Raw{&h.Value, &h.Old, &h.New} {
		if random.IntN(4) == 0 {
			*option = randomFilter(random)
		}
	}
	if random.IntN(4) == 0 {
		h.When = raw(`{"$":"FUNCTION"}`)
	}
	return h
}

func randomMeta(random *rand.Rand) map[string]abi.Raw {
	if random.IntN(2) == 0 {
		return nil
	}
	filters := map[string]abi.Raw{}
	for range random.IntN(3) {
		filters[string(rune('a'+random.IntN(3)))] = randomFilter(random)
	}
	return filters
}

func randomFilter(random *rand.Rand) abi.Raw {
	return raw([]string{`{"$":"PRESENT"}`, `{"$":"ABSENT"}`, `{"$":"FUNCTION"}`, `"p"`, `"q"`, `{"x":"p"}`, `{"$":"VALUE","value":null}`}[random.IntN(7)])
}

func randomSubject(random *rand.Rand) Subject {
	s := Subject{Body: randomBody(random), Changing: random.IntN(2) == 0}
	if s.Changing {
		s.Old, s.New = any(randomBody(random)), any(s.Body)
		if random.IntN(4) == 0 {
			s.Old = nil
		}
		if random.IntN(3) == 0 {
			s.Old = s.New
		}
	}
	return s
}

func randomBody(random *rand.Rand) dicts.Object {
	meta := func() dicts.Object {
		values := dicts.Object{}
		for range random.IntN(3) {
			values[string(rune('a'+random.IntN(3)))] = string(rune('p' + random.IntN(2)))
		}
		return values
	}
	body := dicts.Object{"metadata": dicts.Object{"labels": meta(), "annotations": meta()}}
	if random.IntN(3) > 0 {
		body["spec"] = dicts.Object{"x": []any{"p", "q", nil, dicts.Object{}}[random.IntN(4)]}
	}
	return body
}
