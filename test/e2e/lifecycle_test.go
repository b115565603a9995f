package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allHandlers makes the guest "scripted" register one handler of each kind.
var allHandlers = map[string]string{"handlers": "create update delete resume"}

// essenceOf is what an object was last handled as.
func essenceOf(t *testing.T, object *unstructured.Unstructured) any {
	t.Helper()
	var essence any
	if err := json.Unmarshal([]byte(object.GetAnnotations()[lastHandled]), &essence); err != nil {
		t.Fatalf("the last handled state of %s: %v", object.GetName(), err)
	}
	return essence
}

// specOnly makes an essence without anything but a spec.
func specOnly(spec map[string]any) map[string]any { return map[string]any{"spec": spec} }

func TestWholeLife(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{config: allHandlers})

	s.create(t, "obj1", "{field: one}")
	created := s.handled(t, "obj1")
	if diff := cmp.Diff([]string{finalizer}, created.GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	one := specOnly(map[string]any{"field": "one"})
	if diff := cmp.Diff(any(one), essenceOf(t, created)); diff != "" {
		t.Errorf("last handled state (-want +got):\n%s", diff)
	}

	s.patch(t, "obj1", `{"spec":{"field":"two","extra":[1]}}`)
	two := specOnly(map[string]any{"field": "two", "extra": []any{1.0}})
	s.until(t, "the update is handled", func() bool { return cmp.Equal(any(two), essenceOf(t, s.get(t, "obj1"))) })

	s.remove(t, "obj1")
	s.gone(t, "obj1")

	calls := op.stdout.callsFor(t, "obj1")
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Handler+" "+c.Reason)
	}
	if diff := cmp.Diff([]string{"create_fn create", "update_fn update", "delete_fn delete"}, ids); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	update := calls[1]
	if diff := cmp.Diff([]any{any(one), any(two)}, []any{update.Old, update.New}); diff != "" {
		t.Errorf("old and new of the update (-want +got):\n%s", diff)
	}
	want := []any{
		[]any{"add", []any{"spec", "extra"}, nil, []any{1.0}},
		[]any{"change", []any{"spec", "field"}, "one", "two"},
	}
	if diff := cmp.Diff(want, update.Diff, cmp.Transformer("sort", sortedItems)); diff != "" {
		t.Errorf("diff of the update (-want +got):\n%s", diff)
	}
	op.silent(t, "obj1", "Throttling")
}

func TestResumeAfterRestart(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	first := s.start(t, options{config: allHandlers})
	for _, name := range []string{"unchanged", "changed"} {
		s.create(t, name, "{field: one}")
		s.handled(t, name)
	}
	first.stop(t)
	s.patch(t, "changed", `{"spec":{"field":"two"}}`)
	s.create(t, "new", "{field: one}")

	second := s.start(t, options{config: allHandlers})
	want := map[string][]string{
		"unchanged": {"resume_fn resume"},
		"changed":   {"update_fn update", "resume_fn update"},
		"new":       {"create_fn create"},
	}
	for name, expected := range want {
		var got []string
		second.says(t, name, "Handling cycle is finished")
		for _, c := range second.called(t, name, len(expected)) {
			got = append(got, c.Handler+" "+c.Reason)
		}
		if diff := cmp.Diff(sorted(expected), sorted(got)); diff != "" {
			t.Errorf("calls for %s (-want +got):\n%s", name, diff)
		}
	}
	if calls := first.stdout.calls(t); len(calls) != 2 {
		t.Errorf("the first operator has handled %d, want the 2 creations: %v", len(calls), calls)
	}
}

// progress is what is stored about a handler between its attempts.
type progress struct {
	Started time.Time `json:"started"`
	Delayed time.Time `json:"delayed"`
	Purpose string    `json:"purpose"`
	Retries int       `json:"retries"`
	Success bool      `json:"success"`
	Failure bool      `json:"failure"`
	Message string    `json:"message"`
}

// progress waits until there is a record of a handler that satisfies the condition.
func (s space) progress(t *testing.T, name, id string, condition func(progress) bool) progress {
	t.Helper()
	var found progress
	s.until(t, "there is such a progress of "+id, func() bool {
		text := s.get(t, name).GetAnnotations()[progressOf+id]
		found = progress{}
		return text != "" && json.Unmarshal([]byte(text), &found) == nil && condition(found)
	})
	return found
}

func TestRetriesGoOnAfterRestart(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	first := s.start(t, options{})
	s.create(t, "obj1", "{do: temporary, seconds: 8, times: 2}")
	stored := s.progress(t, "obj1", "create_fn", func(p progress) bool { return p.Retries == 1 })
	first.stop(t)
	if stored.Purpose != "create" || stored.Success || stored.Failure || stored.Message != "not yet" {
		t.Errorf("progress = %+v", stored)
	}
	if delay := stored.Delayed.Sub(stored.Started); delay < 8*time.Second || delay > patience {
		t.Errorf("delayed by %v, want 8s", delay)
	}

	second := s.start(t, options{})
	retried := second.called(t, "obj1", 1)[0]
	if retried.Retry != 1 {
		t.Errorf("retry = %d after the restart, want 1", retried.Retry)
	}
	if at := retried.at(t); at.Before(stored.Delayed) {
		t.Errorf("retried %v too early", stored.Delayed.Sub(at))
	}
	again := s.progress(t, "obj1", "create_fn", func(p progress) bool { return p.Retries == 2 })
	if !again.Started.Equal(stored.Started) {
		t.Errorf("started at %v, want still %v", again.Started, stored.Started)
	}
	second.stop(t)

	third := s.start(t, options{})
	s.handled(t, "obj1")
	if calls := third.stdout.calls(t); len(calls) != 1 || calls[0].Retry != 2 {
		t.Errorf("calls of the third operator: %+v, want the third attempt", calls)
	}
	if calls := first.stdout.calls(t); len(calls) != 1 {
		t.Errorf("%d attempts of the first operator, want 1", len(calls))
	}
}

func TestResultAndStatus(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{config: map[string]string{"handlers": "create"}})
	s.create(t, "obj1", "{do: result}")
	object := s.handled(t, "obj1")
	want := map[string]any{"create_fn": map[string]any{"message": "hello", "size": int64(3)}, "seen": true}
	if diff := cmp.Diff(want, object.Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if labels := object.GetLabels(); labels["seen"] != "yes" {
		t.Errorf("labels = %v", labels)
	}
	if message := op.says(t, "obj1", "a script gives a result"); !strings.HasPrefix(message, "info: ") {
		t.Errorf("the handler has logged %q", message)
	}
	if diff := cmp.Diff([]string(nil), object.GetFinalizers()); diff != "" {
		t.Errorf("finalizers though nothing handles deletions (-want +got):\n%s", diff)
	}
}
