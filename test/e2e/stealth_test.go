package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStealth: an object that no handler is interested in is left alone, until
// one is: this is its creation then, however old it is.
func TestStealth(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{config: map[string]string{"handlers": "create update delete", "label": "watched"}})
	s.create(t, "unmatched", "{field: one}")
	before := s.get(t, "unmatched")
	s.create(t, "later", "{field: one}") // comes after the unmatched one in the stream
	s.patch(t, "later", `{"metadata":{"labels":{"watched":"yes"}}}`)
	s.handled(t, "later")

	if diff := cmp.Diff(before.Object, s.get(t, "unmatched").Object); diff != "" {
		t.Errorf("the object is changed (-before +after):\n%s", diff)
	}
	if messages := op.messages("unmatched"); len(messages) > 0 {
		t.Errorf("messages about the object: %q", messages)
	}

	s.patch(t, "unmatched", `{"spec":{"field":"two"}}`)
	s.patch(t, "unmatched", `{"metadata":{"labels":{"watched":"yes"}}}`)
	s.handled(t, "unmatched")
	calls := op.stdout.callsFor(t, "unmatched")
	if len(calls) != 1 || calls[0].Reason != "create" || calls[0].Old != nil {
		t.Fatalf("calls = %+v, want a creation", calls)
	}
	want := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"watched": "yes"}},
		"spec":     map[string]any{"field": "two"},
	}
	if diff := cmp.Diff(any(want), calls[0].New); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}

	s.patch(t, "unmatched", `{"metadata":{"labels":{"watched":null}}}`)
	s.until(t, "the finalizer is removed", func() bool { return len(s.get(t, "unmatched").GetFinalizers()) == 0 })
	s.remove(t, "unmatched")
	s.gone(t, "unmatched")
	if calls := op.stdout.callsFor(t, "unmatched"); len(calls) != 1 {
		t.Errorf("calls without the label: %+v", calls[1:])
	}
}
