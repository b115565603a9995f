package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// built is a guest in Rust that `make guests` has built. Without Rust there is
// none: then the test is skipped, but never in CI.
func built(t *testing.T, name string) string {
	t.Helper()
	path := repository + "/.cache/guests/" + name + ".wasm"
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %s.wasm is not built. `make guests` builds it, or says what is missing", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// createLabelled creates a KopfExample with a label whose value is "yes".
func (s space) createLabelled(t *testing.T, name, label, spec string) {
	t.Helper()
	s.ApplyIn(t, s.namespace, fmt.Sprintf(
		`{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s, labels: {%s: "yes"}}, spec: %s}`, name, label, spec))
}

// eachTarget runs a test with the guest of the SDK for Rust, built for each target.
func eachTarget(t *testing.T, test func(t *testing.T, module string)) {
	t.Parallel()
	for target, module := range map[string]string{"unknown": "rust-sdk", "wasip1": "rust-sdk-wasip1"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			test(t, built(t, module))
		})
	}
}

// TestRustExample runs the smallest operator by the command line.
func TestRustExample(t *testing.T) {
	t.Parallel()
	module := built(t, "rust-01-minimal")
	s := newSpace(t)
	p := s.spawnModule(t, module)
	p.says(t, "Starting the watch-stream for kopfexamples")
	s.create(t, "obj1", "{field: value}")
	want := map[string]any{"createFn": map[string]any{"message": "hello"}, "seen": true}
	if diff := cmp.Diff(want, s.handled(t, "obj1").Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	p.says(t, `a new object field="value"`)
}

func TestRustChanges(t *testing.T) { eachTarget(t, rustChanges) }

func rustChanges(t *testing.T, module string) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, options{module: module})
	hello := func(name string, retry int64) map[string]any {
		return map[string]any{"seen": true, "create_fn": map[string]any{"message": "hello, " + name, "retry": retry}}
	}
	subs := map[string]any{
		"create_fn":       "all",
		"create_fn/flaky": int64(1), "create_fn/steady": "done", "create_fn/nested/leaf": "create_fn/nested/leaf",
	}
	tests := map[string]struct {
		status any
		says   string
	}{
		"plain":     {hello("plain", 0), "doing"},
		"temporary": {hello("temporary", 1), "error: Handler 'create_fn' failed temporarily: not yet"},
		"permanent": {nil, "error: Handler 'create_fn' failed permanently: never"},
		"chain":     {nil, "error: Handler 'create_fn' failed permanently: never: invalid digit found in string"},
		"arbitrary": {hello("arbitrary", 1), "invalid digit found in string"},
		"panic":     {hello("panic", 1), "panicked: the spec of panic wants a panic (src/changes.rs:"},
		"foreign":   {nil, "the handler awaits something that is not of this SDK"},
		"wait":      {hello("wait", 0), ""},
		"events":    {hello("events", 0), ""},
		"edit":      {hello("edit", 0), ""},
		"subs":      {subs, "after execute"},
		"adopt":     {map[string]any{"create_fn": "adopt"}, ""},
		"print":     {hello("print", 0), ""},
	}
	for name := range tests {
		s.create(t, name, "{do: "+name+"}")
	}
	for name, want := range tests {
		var status any
		s.eventually(t, func() error {
			object := s.get(t, name)
			status = object.Object["status"]
			if object.GetAnnotations()[lastHandled] == "" {
				return errors.New(name + " is not handled")
			}
			return nil
		})
		if diff := cmp.Diff(want.status, status); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", name, diff)
		}
		if want.says != "" {
			op.says(t, name, want.says)
		}
	}
	if found := op.stdout.With("print is printed"); len(found) != 1 {
		t.Errorf("printed: %v", found)
	}
	if edited := s.get(t, "edit").GetAnnotations()["edited"]; edited != "yes" {
		t.Errorf("the transformation function left %q", edited)
	}
	events := s.posted(t, "events", 2)
	if got := text(events["Informed"][0], "message"); got != "all is well" {
		t.Errorf("event: %s", got)
	}
	if got := text(events["ParseIntError"][0], "message"); got != "it failed: invalid digit found in string" {
		t.Errorf("event: %s", got)
	}
}

func TestRustTypes(t *testing.T) { eachTarget(t, rustTypes) }

func rustTypes(t *testing.T, module string) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, options{module: module})
	s.createLabelled(t, "good", "typed", "{size: 5, zones: [{name: a}]}")
	s.createLabelled(t, "bad", "typed", "{size: 5, zones: [{name: a}, {name: 1}]}")
	s.createLabelled(t, "lacking", "typed", "{zones: []}")

	good := s.handled(t, "good")
	if got, _, _ := unstructured.NestedFieldNoCopy(good.Object, "status", "typed_fn"); got != int64(10) {
		t.Errorf("result of the typed handler: %v", got)
	}
	for name, problem := range map[string]string{
		"bad":     "spec.zones.1.name: invalid type: integer `1`, expected a string",
		"lacking": "spec: missing field `size`",
	} {
		op.says(t, name, "error: Handler 'typed_fn' failed permanently: "+problem)
		if found := op.log.With(`"name":"`+name+`"`, "typed handler"); len(found) > 0 {
			t.Errorf("the handler ran for %s: %v", name, found)
		}
		if got := text(s.posted(t, name, 1)["DecodeError"][0], "message"); got != problem {
			t.Errorf("event of %s: %q", name, got)
		}
	}

	s.patch(t, "good", `{"spec":{"size":7}}`)
	want := []any{int64(5), int64(7), []any{"change 5 7"}, int64(5), "update"}
	s.eventually(t, func() error {
		got, _, _ := unstructured.NestedFieldNoCopy(s.get(t, "good").Object, "status", "size_changed/spec.size")
		if diff := cmp.Diff(any(want), got); diff != "" {
			return fmt.Errorf("result of the field handler (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestRustTasks(t *testing.T) { eachTarget(t, rustTasks) }

func rustTasks(t *testing.T, module string) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, options{module: module})
	s.createLabelled(t, "watched", "watched", "{size: 1}")
	op.says(t, "watched", "info: the size is 1")
	s.patch(t, "watched", `{"spec":{"size":2}}`)
	op.says(t, "watched", "info: the size is 2")
	s.remove(t, "watched")
	op.says(t, "watched", `["resource_deleted"`)
	op.says(t, "watched", `after [1,2]`)
	s.gone(t, "watched")

	s.createLabelled(t, "neighbour", "watched", "{size: 10}")
	op.says(t, "neighbour", "info: the size is 10")
	s.createLabelled(t, "broken", "watched", "{panic: true}")
	op.says(t, "broken", "as asked")
	op.says(t, "neighbour", "has lost its instance, and is started again") // they share one
	s.patch(t, "neighbour", `{"spec":{"size":11}}`)
	op.says(t, "neighbour", "info: the size is 11")
	for _, name := range []string{"neighbour", "broken"} {
		s.remove(t, name)
		s.gone(t, name)
	}

	s.ApplyIn(t, s.namespace, `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: one, labels: {group: g}}, spec: {}}`)
	s.ApplyIn(t, s.namespace, `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: two, labels: {group: g, ticking: "yes"}}, spec: {}}`)
	want := map[string]any{"ticks": int64(3), "group": int64(2), "keys": int64(1), "started": "by configure", "random": int64(0)}
	s.eventually(t, func() error {
		got, _, _ := unstructured.NestedFieldNoCopy(s.get(t, "two").Object, "status", "tick")
		if diff := cmp.Diff(any(want), got); diff != "" {
			return fmt.Errorf("result of the timer (-want +got):\n%s", diff)
		}
		return nil
	})

	s.createLabelled(t, "spied", "spied", "{}")
	op.says(t, "spied", `event ADDED of "spied"`)
	s.createLabelled(t, "guarded", "guarded", "{}")
	s.until(t, "the finalizer is there", func() bool { return len(s.get(t, "guarded").GetFinalizers()) > 0 })
	s.remove(t, "guarded")
	op.says(t, "guarded", `deleting "guarded"`)
	s.gone(t, "guarded")
}

func TestRustRefusals(t *testing.T) {
	t.Parallel()
	module := built(t, "rust-sdk")
	s := newSpace(t)
	for setup, want := range map[string]string{
		"refuse": "the configuration is refused",
		"twins":  `two functions with the id "create_fn" meet in one cause`,
	} {
		r, _ := s.launch(t, options{module: module, config: map[string]string{"setup": setup}})
		<-r.ended
		if r.err == nil || !strings.Contains(r.err.Error(), want) {
			t.Errorf("setup %s: error %v, want %q", setup, r.err, want)
		}
	}
}
