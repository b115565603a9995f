package causes_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

const finalizer = "example.com/finalizer"

func body(deleting bool, finalizers ...any) dicts.Object {
	metadata := dicts.Object{"finalizers": append([]any{}, finalizers...)}
	if deleting {
		metadata["deletionTimestamp"] = "2020-01-01T00:00:00Z"
	}
	return dicts.Object{"metadata": metadata}
}

func TestDetect(t *testing.T) {
	old := dicts.Object{}
	changed := diffs.Diff{{Op: diffs.Add, Path: dicts.Path{"spec"}, New: "x"}}
	tests := []struct {
		name        string
		observation causes.Observation
		want        causes.Cause
	}{
		{"gone whatever it was", causes.Observation{EventType: "DELETED", Body: body(true, finalizer), Initial: true}, causes.Cause{Reason: causes.Gone, Initial: true}},
		{"released", causes.Observation{Body: body(true, "other"), Old: old, Diff: changed}, causes.Cause{Reason: causes.Free}},
		{"deleted", causes.Observation{Body: body(true, finalizer), Old: old, Diff: changed}, causes.Cause{Reason: causes.Delete}},
		{"deleted before it was handled", causes.Observation{Body: body(true, finalizer), Initial: true}, causes.Cause{Reason: causes.Delete, Initial: true}},
		{"new", causes.Observation{EventType: "ADDED", Body: body(false)}, causes.Cause{Reason: causes.Create}},
		{"new to us only", causes.Observation{Body: body(false), Initial: true}, causes.Cause{Reason: causes.Create}},
		{"changed", causes.Observation{EventType: "MODIFIED", Body: body(false), Old: old, Diff: changed}, causes.Cause{Reason: causes.Update}},
		{"changed meanwhile", causes.Observation{Body: body(false), Old: old, Diff: changed, Initial: true}, causes.Cause{Reason: causes.Update, Initial: true}},
		{"seen for the first time", causes.Observation{Body: body(false), Old: old, Initial: true}, causes.Cause{Reason: causes.Resume, Initial: true}},
		{"seen again", causes.Observation{EventType: "MODIFIED", Body: body(false), Old: old}, causes.Cause{Reason: causes.Noop}},
		{"without metadata", causes.Observation{Body: dicts.Object{}, Old: old}, causes.Cause{Reason: causes.Noop}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.observation.Finalizer = finalizer
			if got := causes.Detect(test.observation); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	handled := map[causes.Reason]string{causes.Create: "creation", causes.Update: "updating", causes.Delete: "deletion", causes.Resume: "resuming"}
	for reason, title := range handled {
		if !reason.Handled() || reason.Title() != title {
			t.Errorf("%s: got %v, %q", reason, reason.Handled(), reason.Title())
		}
	}
	for _, reason := range []causes.Reason{causes.Noop, causes.Free, causes.Gone} {
		if reason.Handled() || reason.Title() != string(reason) {
			t.Errorf("%s: got %v, %q", reason, reason.Handled(), reason.Title())
		}
	}
}

func TestFinalizers(t *testing.T) {
	tests := []struct {
		name                string
		list, block, allow  any // nil: there is no list
		released, protected bool
	}{
		{"no list", nil, []any{finalizer}, nil, true, false},
		{"empty list", []any{}, []any{finalizer}, nil, true, false},
		{"of others", []any{"a", "b"}, []any{"a", "b", finalizer}, []any{"a", "b"}, false, false},
		{"ours alone", []any{finalizer}, []any{finalizer}, nil, false, true},
		{"ours among others", []any{"a", finalizer, "b"}, []any{"a", finalizer, "b"}, []any{"a", "b"}, false, true},
		{"ours twice", []any{finalizer, "a", finalizer}, []any{finalizer, "a", finalizer}, []any{"a"}, false, true},
		{"not a list", "garbage", []any{finalizer}, nil, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			blocked, allowed := marked(test.list), marked(test.list)
			if got := causes.IsReleased(blocked); got != test.released {
				t.Errorf("released: %v", got)
			}
			if got := causes.DeletionBlocked(blocked, finalizer); got != test.protected {
				t.Errorf("blocked: %v", got)
			}
			wantList(t, "blocked", blocked, test.block, causes.BlockDeletion(blocked, finalizer))
			wantList(t, "allowed", allowed, test.allow, causes.AllowDeletion(allowed, finalizer))
		})
	}
}

// marked returns a body that is being deleted, with a list of finalizers.
func marked(list any) dicts.Object {
	metadata := dicts.Object{"name": "n", "deletionTimestamp": "T"}
	if list != nil {
		metadata["finalizers"] = list
	}
	return dicts.Object{"metadata": metadata}
}

func wantList(t *testing.T, what string, body dicts.Object, want any, err error) {
	t.Helper()
	got, _ := dicts.Lookup(body, "metadata", "finalizers")
	if err != nil || !dicts.Equal(got, want) {
		t.Errorf("%s: got %v and the error %v, want %v", what, got, err, want)
	}
}
