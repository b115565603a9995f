package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// repeated is a list of equal pauses.
func repeated(pause time.Duration, count int) backoffs.Backoffs {
	return backoffs.Backoffs{List: slices.Repeat([]time.Duration{pause}, count)}
}

// throttled makes the pauses after errors of the framework short.
func throttled(s *settings.Settings) {
	s.Queueing.ErrorDelays = repeated(500*time.Millisecond, 3)
	s.Networking.ErrorBackoffs = backoffs.Backoffs{}
}

// throttlingOf is how long an object was throttled.
func throttlingOf(op *running, name string) time.Duration {
	var began time.Time
	for _, rec := range op.records(name) {
		switch {
		case strings.HasPrefix(rec.Message, "Throttling for"):
			began = rec.Timestamp
		case strings.HasPrefix(rec.Message, "Throttling is over"):
			return rec.Timestamp.Sub(began)
		}
	}
	return 0
}

// TestRejectedPatch: a patch that the API server refuses is logged, and nothing is
// tried again until the object changes.
func TestRejectedPatch(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.Apply(t, definition("Picky", "pickies",
		"{type: object, properties: {spec: {type: object, properties: {do: {type: string}, number: {type: integer}}}}}"))
	op := s.start(t, options{config: map[string]string{"resource": "pickies"}, settings: throttled})
	s.ApplyIn(t, s.namespace, "{apiVersion: e2e.kopf.dev/v1, kind: Picky, metadata: {name: obj1}, spec: {do: mistype}}")

	message := op.says(t, "obj1", "Throttling for 0.5 seconds due to an unexpected error: ")
	if !strings.HasPrefix(message, "error: ") || !strings.Contains(message, "spec.number") {
		t.Errorf("message %q does not tell the field", message)
	}
	op.says(t, "obj1", "Throttling is over")
	if pause := throttlingOf(op, "obj1"); pause < 490*time.Millisecond { // timers are not exact
		t.Errorf("throttled for %v only", pause)
	}
	if calls := op.stdout.callsFor(t, "obj1"); len(calls) != 1 {
		t.Errorf("%d calls without a change of the object, want 1", len(calls))
	}

	pickies := schema.GroupVersionResource{Group: "e2e.kopf.dev", Version: "v1", Resource: "pickies"}
	s.patchOf(t, pickies, "obj1", `{"spec":{"do":"nothing"}}`)
	if calls := op.called(t, "obj1", 2); calls[1].Reason != "create" {
		t.Errorf("reason = %s after a creation that was not handled", calls[1].Reason)
	}
	op.says(t, "obj1", "Handling cycle is finished")
}

// TestTooLargeResult: so is one that is too large for the API server.
func TestTooLargeResult(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{settings: throttled})
	s.create(t, "obj1", "{do: large result}")
	message := op.says(t, "obj1", "Throttling for 0.5 seconds due to an unexpected error: ")
	if !regexp.MustCompile("too large|larger than").MatchString(message) || len(message) > 2000 {
		t.Errorf("message %.2000q", message)
	}
	op.says(t, "obj1", "Throttling is over")
	s.patch(t, "obj1", `{"spec":{"do":null}}`)
	s.handled(t, "obj1")
	if calls := op.stdout.callsFor(t, "obj1"); len(calls) != 2 {
		t.Errorf("%d calls, want one for each state", len(calls))
	}
}

// TestDeletedDuringHandler: there is nothing to patch any more, and nothing to say.
func TestDeletedDuringHandler(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{})
	s.create(t, "obj1", "{do: sleep, seconds: 5}")
	op.called(t, "obj1", 1)
	s.remove(t, "obj1")
	s.gone(t, "obj1")
	op.says(t, "obj1", "debug: Patching was skipped: the object does not exist anymore.")
	op.silent(t, "obj1", "error: ")
	s.create(t, "obj1", "{field: again}")
	s.handled(t, "obj1")
	if calls := op.stdout.callsFor(t, "obj1"); len(calls) != 2 || calls[1].Retry != 0 {
		t.Errorf("calls = %+v, want a creation of its own for the second object", calls)
	}
}

// TestGarbageInAnnotations: the error names the annotation that a user has broken, and does not
// overwritten; when it is mended, the object is handled.
func TestGarbageInAnnotations(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{settings: throttled})
	tests := []struct{ name, annotation, value string }{
		{"record", progressOf + "create_fn", "{garbage"},
		{"record-list", progressOf + "create_fn", "[1]"},
		{"record-time", progressOf + "create_fn", `{"started":"yesterday"}`},
		{"diffbase", lastHandled, "{garbage"},
		{"diffbase-list", lastHandled, "[1]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s, annotations: {%q: %q}}}",
				test.name, test.annotation, test.value))
			message := op.says(t, test.name, "Throttling for 0.5 seconds due to an unexpected error: ")
			if !strings.Contains(message, test.annotation) {
				t.Errorf("message %q does not name %s", message, test.annotation)
			}
			op.says(t, test.name, "Throttling is over")
			if calls := op.stdout.callsFor(t, test.name); len(calls) > 0 {
				t.Errorf("handlers were called: %+v", calls)
			}
			if diff := cmp.Diff(map[string]string{test.annotation: test.value}, s.get(t, test.name).GetAnnotations()); diff != "" {
				t.Errorf("annotations (-before +after):\n%s", diff)
			}
			s.patch(t, test.name, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, test.annotation))
			s.handled(t, test.name)
		})
	}
}

// TestBurst: many changes of one object are handled to the last state, and not
// one by one.
func TestBurst(t *testing.T) {
	t.Parallel()
	const writers, changes = 4, 500 // each its field, so often
	s := newSpace(t)
	op := s.start(t, options{})
	s.create(t, "obj1", "{do: sleep, seconds: 0.2}")
	s.handled(t, "obj1")
	last := map[string]any{"do": "sleep", "seconds": 0.2}
	var writing sync.WaitGroup
	failures := make(chan error, writers)
	for writer := range writers {
		field := fmt.Sprintf("count%d", writer)
		last[field] = float64(changes)
		writing.Go(func() {
			for n := 1; n <= changes; n++ {
				change := fmt.Appendf(nil, `{"spec":{%q:%d}}`, field, n)
				_, err := s.client(examples).Patch(t.Context(), "obj1", types.MergePatchType, change, metav1.PatchOptions{})
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	writing.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
	s.until(t, "the last state is handled", func() bool {
		return cmp.Equal(any(specOnly(last)), essenceOf(t, s.get(t, "obj1")))
	})
	calls := op.stdout.callsFor(t, "obj1")
	if len(calls) < 2 || len(calls) > writers*changes/5 {
		t.Errorf("%d calls for %d changes", len(calls), writers*changes)
	}
	for i, c := range calls[2:] {
		if diff := cmp.Diff(calls[i+1].New, c.Old); diff != "" {
			t.Fatalf("call %d does not go on from the one before (-its new +old):\n%s", i+2, diff)
		}
	}
	op.silent(t, "obj1", "error: ")
}

// TestHandlerThatTriggersItself: a handler whose patch is a change is called again,
// for each change once; others and the exit of the operator do not wait for it.
func TestHandlerThatTriggersItself(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{})
	s.create(t, "endless", "{do: change itself, count: 0}")
	s.create(t, "ending", "{do: change itself, count: 0, end: 5}")
	s.until(t, "the count is complete, and handled", func() bool {
		object := s.get(t, "ending")
		return cmp.Equal(object.Object["spec"], any(map[string]any{"do": "change itself", "count": int64(5), "end": int64(5)})) &&
			notHandled(object) == nil
	})
	s.create(t, "neighbour", "{}")
	s.handled(t, "neighbour")
	for _, name := range []string{"ending", "endless"} {
		for i, c := range op.called(t, name, 6) {
			want := any(specOnly(map[string]any{"do": "change itself", "count": float64(i)}))
			if name == "ending" {
				want = specOnly(map[string]any{"do": "change itself", "count": float64(i), "end": 5.0})
			}
			if diff := cmp.Diff(want, c.New); diff != "" {
				t.Fatalf("%s, call %d (-want new +got):\n%s", name, i, diff)
			}
		}
	}
	if calls := op.stdout.callsFor(t, "ending"); len(calls) != 6 {
		t.Errorf("%d calls of the ending one, want the creation and 5 changes", len(calls))
	}
	op.stop(t)
	calls := len(op.stdout.callsFor(t, "endless"))
	if count := s.get(t, "endless").Object["spec"].(map[string]any)["count"]; count != int64(calls) && count != int64(calls-1) {
		t.Errorf("count %v after %d calls", count, calls)
	}
}

// TestLargeObject: an object whose last state does not fit into an annotation is
// refused before its handlers run, and the message names the cure, which helps.
func TestLargeObject(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{config: map[string]string{"handlers": "create delete"}, settings: throttled})
	s.create(t, "large", "{text: "+strings.Repeat("x", 900_000)+"}")
	message := op.says(t, "large", "Throttling for 0.5 seconds due to an unexpected error: ")
	for _, want := range []string{"annotations", "262144", "status"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %.500q does not tell %q", message, want)
		}
	}
	op.says(t, "large", "Throttling is over")
	if calls := op.stdout.callsFor(t, "large"); len(calls) > 0 {
		t.Errorf("%d calls of handlers in vain", len(calls))
	}
	s.create(t, "small", "{}")
	s.handled(t, "small")
	s.remove(t, "large")
	s.gone(t, "large")
	if calls := op.called(t, "large", 1); len(calls) != 1 || calls[0].Reason != "delete" {
		t.Errorf("calls at the deletion: %+v", calls)
	}
	op.stop(t)

	inStatus := s.start(t, options{settings: func(s *settings.Settings) {
		s.Persistence.DiffBase = stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{})
	}})
	s.create(t, "fitting", "{text: "+strings.Repeat("x", 900_000)+"}")
	inStatus.says(t, "fitting", "Creation is processed: 1 succeeded")
	s.until(t, "the last state is in the status", func() bool {
		status, _ := s.get(t, "fitting").Object["status"].(map[string]any)
		return status["kopf"] != nil
	})
	inStatus.silent(t, "fitting", "error: ")
	if calls := inStatus.called(t, "fitting", 1); len(calls) != 1 {
		t.Errorf("%d calls, want 1", len(calls))
	}
}
