package handling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

func TestChildren(t *testing.T) {
	const declared = `"children":[{"kind":"sub","id":"a"},{"kind":"sub","id":"b"}]`
	tests := []struct {
		name    string
		scripts map[string][]string
		calls   []string
		pending []bool // answers to execute
		final   bool
		message string
		subrefs []string
		stored  []string // ids with a record in the patch
	}{
		{
			name:    "one in a cycle, then the parent again",
			scripts: map[string][]string{"fn": {`{"step":"done","result":1,` + declared + `}`}},
			calls:   []string{"fn", "fn/a"}, message: "None",
			subrefs: []string{"fn/a", "fn/b"}, stored: []string{"fn.a", "fn.b"},
		},
		{
			name:    "all at once",
			scripts: map[string][]string{"fn": {`{"step":"done","lifecycle":"all_at_once",` + declared + `}`}},
			calls:   []string{"fn", "fn/a", "fn/b"}, final: true,
			subrefs: []string{"fn/a", "fn/b"}, stored: []string{"fn.a", "fn.b"},
		},
		{
			name: "on demand, pending",
			scripts: map[string][]string{"fn": {
				`{"step":"execute",` + declared + `}`,
				`{"step":"done","error":{"kind":"children","message":""}}`,
			}},
			calls: []string{"fn", "fn/a"}, pending: []bool{true}, message: "None",
			subrefs: []string{"fn/a", "fn/b"}, stored: []string{"fn.a", "fn.b"},
		},
		{
			name: "on demand, all done",
			scripts: map[string][]string{"fn": {
				`{"step":"execute","lifecycle":"all_at_once",` + declared + `}`,
				`{"step":"done","result":{"x":1}}`,
			}},
			calls: []string{"fn", "fn/a", "fn/b"}, pending: []bool{false}, final: true,
			subrefs: []string{"fn/a", "fn/b"}, stored: []string{"fn.a", "fn.b"},
		},
		{
			name: "on demand, then those that were declared",
			scripts: map[string][]string{"fn": {
				`{"step":"execute","children":[{"kind":"sub","id":"a"}]}`,
				`{"step":"done","children":[{"kind":"sub","id":"b"}]}`,
			}},
			calls: []string{"fn", "fn/a", "fn/b"}, pending: []bool{false}, final: true,
			subrefs: []string{"fn/a", "fn/b"}, stored: []string{"fn.a", "fn.b"},
		},
		{
			name: "nested",
			scripts: map[string][]string{
				"fn":   {`{"step":"done","children":[{"kind":"sub","id":"a"}]}`},
				"fn/a": {`{"step":"done","children":[{"kind":"sub","id":"x"}]}`},
			},
			calls: []string{"fn", "fn/a", "fn/a/x"}, final: true,
			subrefs: []string{"fn/a", "fn/a/x"}, stored: []string{"fn.a", "fn.a.x"},
		},
		{
			name: "a child fails for good: the parent continues",
			scripts: map[string][]string{
				"fn":   {`{"step":"done","children":[{"kind":"sub","id":"a"}]}`},
				"fn/a": {`{"step":"done","error":{"kind":"permanent","message":"no"}}`},
			},
			calls: []string{"fn", "fn/a"}, final: true, subrefs: []string{"fn/a"}, stored: []string{"fn.a"},
		},
		{
			name:    "an error of the parent: no children",
			scripts: map[string][]string{"fn": {`{"step":"done","error":{"kind":"permanent","message":"no"},` + declared + `}`}},
			calls:   []string{"fn"}, final: true, message: "no",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			guest := &reactortest.Scripted{Scripts: tt.scripts}
			s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
			got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, inv := range guest.Invocations {
				calls = append(calls, inv.ID)
			}
			var pending []bool
			for _, answer := range guest.Answers {
				pending = append(pending, answer.Pending)
			}
			slices.Sort(got.subrefs)
			if diff := cmp.Diff([]any{tt.calls, tt.pending, tt.final, tt.message, tt.subrefs, tt.stored},
				[]any{calls, pending, got.final, got.Message, slices.Compact(got.subrefs), recordsIn(s.cause.Patch.Merge.Object())}); diff != "" {
				t.Errorf("calls, pending, final, message, subrefs, records (-want +got):\n%s", diff)
			}
			if guest.Alive != 0 {
				t.Errorf("%d tasks are not released", guest.Alive)
			}
		})
	}
}

// recordsIn lists the progress records in a patch.
func recordsIn(merge dicts.Object) []string {
	var found []string
	for key := range dicts.LookupObject(merge, "metadata", "annotations") {
		if id, ok := strings.CutPrefix(key, "kopf.zalando.org/"); ok {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

func TestFinishedChildrenAreNotCalledAgain(t *testing.T) {
	done := fmt.Sprintf(`{"started":%q,"stopped":%q,"purpose":"create","retries":1,"success":true,"failure":false}`,
		"2020-01-01T00:00:00.000000+00:00", "2020-01-01T00:00:01.000000+00:00")
	body := fmt.Sprintf(`{"metadata":{"name":"n","annotations":{"kopf.zalando.org/fn.a":%q}}}`, done)
	guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"done","children":[{"kind":"sub","id":"a"},{"kind":"sub","id":"b"}]}`}}}
	s := newStage(t, guest, body)
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(1, time.Second))
	if err != nil || !got.final {
		t.Fatalf("got %+v, %v", got, err)
	}
	if n := len(guest.Invocations); n != 2 || guest.Invocations[1].ID != "fn/b" {
		t.Errorf("called: %+v", guest.Invocations)
	}
}

func TestPatchesOfChildrenFollowThatOfTheirParent(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{
		"fn": {
			`{"step":"execute","children":[{"kind":"sub","id":"a"}],"patch":{"status":{"phase":"begun","old":1,"map":{"parent":1}}}}`,
			`{"step":"done","patch":{"status":{"phase":"begun","old":2,"map":{"parent":1},"last":true}}}`,
		},
		"fn/a": {`{"step":"done","patch":{"status":{"phase":"done","old":0,"last":false,"map":{"parent":0,"child":1}}}}`},
	}}
	s := newStage(t, guest, `{}`)
	if _, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0)); err != nil {
		t.Fatal(err)
	}
	got := string(dicts.Encode(dicts.LookupObject(s.cause.Patch.Merge.Object(), "status")))
	if want := `{"last":true,"map":{"child":1,"parent":0},"old":2,"phase":"done"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestChildrenOfEventHandlersAreRefused(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"done","children":[{"kind":"sub","id":"a"}]}`}}}
	s := newStage(t, guest, `{}`)
	s.cause.Kind = RawEvent{}
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"kind":"event","id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
	if err != nil || !strings.Contains(got.Message, "only handlers of changes can have sub-handlers") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestChildrenThatCannotBeCalledFailTheParent(t *testing.T) {
	const when = `{"step":"done","patch":{"status":{"x":1}},"children":[{"kind":"sub","id":"a","when":{"$":"FUNCTION"}}]}`
	const plain = `{"step":"done","patch":{"status":{"x":1}},"children":[{"kind":"sub","id":"a"}]}`
	tests := []struct {
		name    string
		script  string
		body    string
		failure *abi.Error // of the filter
		final   bool
		message string // the beginning
	}{
		{"a filter fails", when, `{}`, &abi.Error{Kind: abi.ErrorArbitrary, Message: "boo"}, false, "boo"},
		{"a filter fails for good", when, `{}`, &abi.Error{Kind: abi.ErrorPermanent, Message: "never"}, true, "never"},
		{"a filter is not a filter", when, `{}`, nil, false, "'fn/a': a filter failed: it must answer"},
		{"a record is broken", plain, `{"metadata":{"annotations":{"kopf.zalando.org/fn.a":"?"}}}`, nil, false, `progress of the handler "fn/a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {tt.script}}, Verdicts: []abi.Verdict{{Error: tt.failure}}}
			s := newStage(t, guest, tt.body)
			got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]},"backoff":5}`), s.cause, fresh(0, 0))
			if err != nil {
				t.Fatalf("an error of the cycle: %v", err)
			}
			if !got.Failed || got.final != tt.final || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("got %+v, want an error %q, final: %t", got, tt.message, tt.final)
			}
			if !tt.final && (got.delay == nil || *got.delay != 5*time.Second) {
				t.Errorf("delay %v, want that of the parent's backoff", got.delay)
			}
			if dicts.LookupObject(s.cause.Patch.Merge.Object(), "status") == nil {
				t.Error("the parent's own patch is lost")
			}
		})
	}
}

// TestEndlessChildren checks that a handler that nests sub-handlers without an end fails.
func TestEndlessChildren(t *testing.T) {
	const declares = `{"step":"done","children":[{"kind":"sub","id":"a"}]}`
	guest := &reactortest.Scripted{Attempts: slices.Repeat([]string{declares}, 10*maxDepth)}
	s := newStage(t, guest, `{}`)
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
	if err != nil || got.final || guest.Alive != 0 {
		t.Errorf("got %+v, %v, %d tasks are alive", got, err, guest.Alive)
	}
	if n := len(guest.Invocations); n != maxDepth+1 {
		t.Errorf("%d handlers were called", n)
	}
}
