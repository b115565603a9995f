package sdkgo_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

func TestRegistration(t *testing.T) {
	module, err := load(t, map[string]string{"MODE": "more"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sdk": "go 0.1.0", "shared_tasks": true, "operator": {"name": "guest", "version": "1.2.3"}, "handlers": [
		{"kind": "create", "id": "createFn", "fn": "main.createFn", "resource": {"args": ["things"]},
			"retries": 3, "timeout": 60, "param": {"x": 1}},
		{"kind": "update", "id": "compare", "fn": "main.compare", "resource": {"args": ["kopf.dev", "v1", "things"]},
			"field": ["spec", "size"], "old": {"$": "ABSENT"}},
		{"kind": "create", "id": "fails", "fn": "main.fails", "resource": {"args": [{"$": "EVERYTHING"}]}},
		{"kind": "create", "id": "sleeps", "fn": "main.sleeps", "resource": {"args": ["things"]}},
		{"kind": "create", "id": "parent", "fn": "main.parent", "resource": {"args": ["things"]}},
		{"kind": "create", "id": "edits", "fn": "main.edits", "resource": {"args": ["things"]}},
		{"kind": "create", "id": "remembers", "fn": "main.remembers", "resource": {"args": ["things"]}},
		{"kind": "delete", "id": "filtered", "fn": "main.filtered", "resource": {"args": ["things"]},
			"optional": true, "when": {"$": "FUNCTION"}, "labels": {"app": {"$": "FUNCTION"}}},
		{"kind": "daemon", "id": "polls", "fn": "main.polls", "resource": {"args": ["things"]},
			"initial_delay": {"$": "FUNCTION"}},
		{"kind": "event", "id": "watch", "fn": "main.watch", "resource": {"function": true}},
		{"kind": "startup", "id": "configure", "fn": "main.configure"},
		{"kind": "resume", "id": "createFn", "fn": "main.createFn", "resource": {"args": ["things"]}}]}`
	if diff := cmp.Diff(normal(t, want), normal(t, module.Registration())); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
}

func TestRefusedConfiguration(t *testing.T) {
	_, err := load(t, map[string]string{"MODE": "refuse"})
	if err == nil || !strings.Contains(err.Error(), "MODE must not be refuse") {
		t.Errorf("the error does not tell what the guest said: %v", err)
	}
}

func TestExports(t *testing.T) {
	module, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range module.Exports() {
		got = append(got, f.Name)
	}
	for _, name := range []string{
		"kopf_abi_v1", abi.ExportAlloc, abi.ExportRegister, abi.ExportStart, abi.ExportResume,
		abi.ExportCancel, abi.ExportRelease, abi.ExportAsk, abi.ExportTransform, abi.ExportInitialize,
	} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not exported; exports are %v", name, got)
		}
	}
}

func TestResultPatchAndLog(t *testing.T) {
	r := newRun(t)
	step := r.start("createFn", `{"metadata": {"name": "obj1"}, "spec": {"size": 5}}`)
	want(t, step, `{"step": "done", "result": {"size": 6}, "patch": {"status": {"param": {"x": 1}}}}`)
	if diff := cmp.Diff([]string{"20 created name=obj1 size=5"}, r.env.logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestSegmentsOnDemand(t *testing.T) {
	r := newRun(t)
	large := `"` + strings.Repeat("x", 100_000) + `"` // larger than the first buffer of the guest
	r.env.segments = map[uint32]string{abi.TagOld: "null", abi.TagNew: large, abi.TagDiff: `[["add", ["size"], null, 1]]`}
	want(t, r.start("compare", `{}`), `{"step": "done", "result": {"old": null, "new": `+large+`, "diff": ["size"]}}`)
}

func TestErrors(t *testing.T) {
	tests := []struct{ mode, want string }{
		{"", `{"step": "done", "patch": {"status": {"tried": 0}}}`},
		{"temporary", `{"step": "done", "patch": {"status": {"tried": 0}},
			"error": {"kind": "temporary", "message": "later", "type": "*kopf.TemporaryError", "delay": 1.5}}`},
		{"permanent", `{"step": "done", "patch": {"status": {"tried": 0}},
			"error": {"kind": "permanent", "message": "never", "type": "*kopf.PermanentError"}}`},
		{"arbitrary", `{"step": "done", "patch": {"status": {"tried": 0}},
			"error": {"kind": "arbitrary", "message": "boo", "type": "*errors.errorString"}}`},
	}
	r := newRun(t)
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			want(t, r.start("fails", `{"spec": {"mode": "`+test.mode+`"}}`), test.want)
		})
	}
}

func TestPanic(t *testing.T) {
	r := newRun(t)
	step := r.start("fails", `{"spec": {"mode": "panic"}}`)
	if step.Error == nil || step.Error.Message != "panic: runtime error: index out of range [0] with length 0" {
		t.Fatalf("not the error of the panic: %+v", step.Error)
	}
	_, first, _ := strings.Cut(step.Error.Stack, "\n")
	if !strings.HasPrefix(first, "main.fails(") {
		t.Errorf("the stack does not begin in the handler:\n%s", step.Error.Stack)
	}
	if string(step.Patch) != `{"status":{"tried":0}}` {
		t.Errorf("the patch is lost: %s", step.Patch)
	}
	want(t, r.start("createFn", `{"spec": {"size": 1}}`), // the instance continues
		`{"step": "done", "result": {"size": 2}, "patch": {"status": {"param": {"x": 1}}}}`)
}

func TestSleep(t *testing.T) {
	r := newRun(t)
	want(t, r.start("sleeps", `{}`), `{"step": "wait", "seconds": 2}`)
	want(t, r.resume(abi.Answer{}), `{"step": "wait", "seconds": 3600}`)
	want(t, r.resume(abi.Answer{}), `{"step": "done", "result": "slept"}`)
}

func TestCancelledSleep(t *testing.T) {
	r := newRun(t)
	want(t, r.start("sleeps", `{}`), `{"step": "wait", "seconds": 2}`)
	want(t, r.resume(abi.Answer{}), `{"step": "wait", "seconds": 3600}`)
	want(t, r.resume(abi.Answer{Cancelled: true}), `{"step": "done", "result": "cancelled"}`)
}

func TestChildren(t *testing.T) {
	r := newRun(t)
	body := `{"spec": {"size": 1, "children": {"b": {}, "a": {}}}}`
	want(t, r.start("parent", body), `{"step": "execute", "children": [
		{"kind": "sub", "id": "first", "fn": "main.createFn"}, {"kind": "sub", "id": "compare", "fn": "main.compare"}]}`)
	inv := &abi.Invocation{Handler: 0, Kind: abi.KindSub, ID: "parent/first", Reason: "create"}
	child, step, err := r.task.Start(context.Background(), inv, []byte(body), r.env)
	if err != nil {
		t.Fatal(err)
	}
	child.Release(context.Background())
	want(t, step, `{"step": "done", "result": {"size": 2}, "patch": {"status": {"param": null}}}`)
	want(t, r.resume(abi.Answer{}), `{"step": "done", "result": "parent", "children": [
		{"kind": "sub", "id": "b", "retries": 1}, {"kind": "sub", "id": "a", "retries": 1}]}`)
	inv = &abi.Invocation{Handler: 1, Kind: abi.KindSub, ID: "parent/a", Reason: "create"}
	child, step, err = r.task.Start(context.Background(), inv, []byte(body), r.env)
	if err != nil {
		t.Fatal(err)
	}
	child.Release(context.Background())
	want(t, step, `{"step": "done", "result": "a"}`)
}

func TestPendingChildren(t *testing.T) {
	r := newRun(t)
	r.start("parent", `{}`)
	want(t, r.resume(abi.Answer{Pending: true}), `{"step": "done",
		"error": {"kind": "children", "message": "sub-handlers are not finished yet", "type": "*errors.errorString"}}`)
}

func TestTransformations(t *testing.T) {
	r := newRun(t)
	want(t, r.start("edits", `{}`), `{"step": "done", "transforms": 2}`)
	for range 2 { // after a conflict, again
		body, err := r.task.Transform(context.Background(), []byte(`{"spec": {"n": 12345678901234567, "x": 1.5}}`))
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"metadata":{"labels":{"edited":"yes"}},"spec":{"n":12345678901234567,"x":1.5}}`; string(body) != want {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	_, err := r.task.Transform(context.Background(), []byte(`{"broken": true}`))
	if err == nil || !strings.Contains(err.Error(), "cannot edit this") {
		t.Errorf("the error of the function is lost: %v", err)
	}
}

func TestQuestionsToTheHost(t *testing.T) {
	r := newRun(t)
	r.env.conflict = 1
	want(t, r.start("remembers", `{}`), `{"step": "done",
		"result": {"count": 42, "indexed": ["a", "b"], "secret": "hush", "random": true}}`)
	if diff := cmp.Diff([]abi.Event{{Level: 30, Type: "Warning", Reason: "Remembered", Message: "a warning"}}, r.env.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestDaemon(t *testing.T) {
	r := newRun(t)
	want(t, r.start("polls", `{"spec": {"size": 1}}`), `{"step": "wait", "seconds": 10, "stoppable": true}`)
	r.env.segments[abi.TagFresh] = `{"spec": {"size": 2}}`
	want(t, r.resume(abi.Answer{}), `{"step": "wait", "seconds": 10, "stoppable": true}`)
	r.env.segments[abi.TagFresh] = `{"spec": {"size": 3}}`
	r.env.stopped = abi.StopResourceDeleted
	want(t, r.resume(abi.Answer{Stopped: []string{"resource_deleted"}}),
		`{"step": "done", "result": {"sizes": [1, 2, 3], "reasons": ["resource_deleted"]}}`)
}

func TestSettings(t *testing.T) {
	const changes = `"settings": {"persistence.finalizer": "example.com/finalizer", "execution.default_backoff": 1.5}`
	r := newRun(t)
	want(t, r.start("configure", ""), `{"step": "done", `+changes+`}`)
	var err error
	if r.module, err = load(t, map[string]string{"MODE": "fail"}); err != nil {
		t.Fatal(err)
	}
	want(t, r.start("configure", ""), `{"step": "done", `+changes+`, "error": {"kind": "permanent", "message": "never", "type": "*kopf.PermanentError"}}`)
}

func TestQuestionsToTheGuest(t *testing.T) {
	when := abi.Callback{Option: "when"}
	label := func(values ...abi.Value) abi.Callback {
		return abi.Callback{Option: "labels", Key: "app", Values: values}
	}
	tests := []struct {
		name, body string
		handler    int
		callbacks  []abi.Callback
		want       string
	}{
		{"true", `{"spec": {"size": 1}}`, 7, []abi.Callback{when}, `true`},
		{"false", `{}`, 7, []abi.Callback{when}, `false`},
		{"value", `{}`, 7, []abi.Callback{label(abi.Value{Value: abi.Raw(`"web"`)})}, `true`},
		{"one of values", `{}`, 7, []abi.Callback{label(abi.Value{Absent: true}, abi.Value{Value: abi.Raw(`"web"`)})}, `true`},
		{"no value", `{}`, 7, []abi.Callback{label(abi.Value{Absent: true})}, `false`},
		{"the first false ends it", `{"spec": {"size": "broken"}}`, 7, []abi.Callback{label(abi.Value{Absent: true}), when}, `false`},
		{"initial delay", `{"spec": {"delay": 2.5}}`, 8, []abi.Callback{{Option: "initial_delay"}}, `2.5`},
		{"resource", ``, 9, []abi.Callback{{Option: "resource"}}, `true`},
		{"unknown option", ``, 9, []abi.Callback{{Option: "when"}}, `no such callback: when`},
		{"panic", `{"spec": {"size": "broken"}}`, 7, []abi.Callback{when}, `panic: this size is broken`},
	}
	module, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := &abi.Questions{Questions: []abi.Question{{Handler: test.handler, Callbacks: test.callbacks}}}
			q.Resource = &abi.ResourceInfo{Group: "kopf.dev"}
			answers, err := module.Ask(context.Background(), q, []byte(test.body), &env{})
			if err != nil {
				t.Fatal(err)
			}
			got := string(answers.Answers[0].Value)
			if e := answers.Answers[0].Error; e != nil {
				got = e.Message
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestClonesDrawDifferently: instances are copies of one, but not of its chance.
func TestClonesDrawDifferently(t *testing.T) {
	r := newRun(t)
	const clones = 4
	seen := map[string]bool{}
	for range clones { // none is released, so each has an instance of its own
		var drawn struct{ Rand, Crypto json.RawMessage }
		if err := json.Unmarshal(r.start("fails", `{"spec":{"mode":"draw"}}`).Result, &drawn); err != nil {
			t.Fatal(err)
		}
		seen["rand "+string(drawn.Rand)], seen["crypto "+string(drawn.Crypto)] = true, true
	}
	if got := r.module.Usage().Living; got != clones {
		t.Fatalf("%d instances, want %d", got, clones)
	}
	if len(seen) != 2*clones {
		t.Errorf("clones drew equal numbers: %v", seen)
	}
}
