package invocations

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/operator/documents"
	"github.com/kopf-wasm/kopf/operator/guesttest"
)

func object(t *testing.T, text string) dicts.Object {
	t.Helper()
	doc, err := dicts.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

const example = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"a","namespace":"default","uid":"1"},"spec":{"field":"value"}}`

// printed calls a handler in virtual time, and returns what kopf invoke prints.
func printed(t *testing.T, guest *guesttest.Guest, o Options) (text string, failed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		result, err := Call(t.Context(), guest, o)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := result.Print(&out); err != nil {
			t.Fatal(err)
		}
		text, failed = out.String(), result.Failed()
	})
	return text, failed
}

func TestEverythingThatHappenedIsPrinted(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindUpdate, "update_fn", `{"param":{"a":1}}`)},
		Do: map[string]guesttest.Handler{"update_fn": func(c *guesttest.Call, answer *abi.Answer) *abi.Step {
			switch c.Steps {
			case 0:
				c.Log(20, "the parameter is "+string(c.Param)+" \x1b[31m")
				c.Log(20, "the difference is "+string(c.Segment(abi.TagDiff)))
				if err := c.Event(abi.Event{Type: "Normal", Reason: "Renewed", Message: "for a week"}); err != nil {
					return guesttest.Permanent(err.Error())
				}
				if _, err := c.MemoSet(0, "seen", []byte(`{"times":1}`), -1); err != nil {
					return guesttest.Permanent(err.Error())
				}
				return guesttest.Wait(3600)
			case 1:
				return guesttest.Get("/api/v1/namespaces/default/configmaps/b")
			}
			return guesttest.Done(abi.Outcome{Result: answer.Response.Body, Patch: abi.Raw(`{"status":{"phase":"Renewed"}}`), Warnings: []string{"careful"}})
		}},
	}
	nodes, err := documents.Parse("answers.yaml", []byte("- {request: GET /api/v1/namespaces/*/configmaps/b, body: {data: {x: y}}}"))
	if err != nil {
		t.Fatal(err)
	}
	given, err := answers.Parse(nodes)
	if err != nil {
		t.Fatal(err)
	}
	old := object(t, example)
	old["spec"].(dicts.Object)["field"] = "before"
	text, failed := printed(t, guest, Options{Handler: "update_fn", Object: object(t, example), Old: old, Params: map[string]any{"b": true}, Answers: given})
	want := `update_fn (update) succeeded
result:
  data:
    x: "y"
patch:
  status:
    phase: Renewed
memo:
  seen:
    times: 1
warnings:
  careful
log:
  info     the parameter is {"b":true} \u001b[31m
  info     the difference is [["change",["spec","field"],"before","value"]]
events:
  Normal Renewed: for a week
requests:
  GET /api/v1/namespaces/default/configmaps/b -> 200
`
	if diff := cmp.Diff(want, text); diff != "" || failed {
		t.Errorf("failed = %v, output (-want +got):\n%s", failed, diff)
	}
}

func TestFailuresSayWhenTheNextAttemptIs(t *testing.T) {
	tests := []struct {
		name string
		step *abi.Step
		want string
	}{
		{"temporary", guesttest.Temporary("not yet", 5), "fn (create) failed (temporary, again after 5 seconds): not yet\n"},
		{"permanent", guesttest.Permanent("never"), "fn (create) failed (permanent): never\n"},
		{
			"arbitrary", guesttest.Done(abi.Outcome{Error: &abi.Error{Kind: abi.ErrorArbitrary, Message: "odd", Stack: "main.go:1\nmain.go:2\n"}}),
			"fn (create) failed (arbitrary): odd\nstack:\n  main.go:1\n  main.go:2\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			guest := &guesttest.Guest{
				Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "fn", "")},
				Do:       map[string]guesttest.Handler{"fn": func(*guesttest.Call, *abi.Answer) *abi.Step { return tt.step }},
			}
			text, failed := printed(t, guest, Options{Handler: "fn", Object: object(t, example)})
			if diff := cmp.Diff(tt.want, text); diff != "" || !failed {
				t.Errorf("failed = %v, output (-want +got):\n%s", failed, diff)
			}
		})
	}
}

func TestRequestsWithoutAnAnswerAreRefused(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "fn", "")},
		Do: map[string]guesttest.Handler{"fn": func(c *guesttest.Call, answer *abi.Answer) *abi.Step {
			if answer == nil {
				return guesttest.Get("/api/v1/pods")
			}
			return guesttest.Done(abi.Outcome{Error: answer.Error})
		}},
	}
	const reason = "there is no answer to GET /api/v1/pods: add one to the file of --answers"
	text, _ := printed(t, guest, Options{Handler: "fn", Object: object(t, example)})
	want := "fn (create) failed (arbitrary): " + reason + "\nrequests:\n  GET /api/v1/pods -> " + reason + "\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestDaemonsAreAskedToStop(t *testing.T) {
	rounds := 0
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindDaemon, "daemon", "")},
		Do: map[string]guesttest.Handler{"daemon": func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
			if answer != nil && len(answer.Stopped) > 0 {
				return guesttest.Result(`"` + answer.Stopped[0] + `"`)
			}
			rounds++
			return guesttest.Wait(10)
		}},
	}
	text, failed := printed(t, guest, Options{Handler: "daemon", Object: object(t, example), Lifetime: time.Minute})
	if failed || text != "daemon (daemon) succeeded\nresult:\n  operator_exiting\n" || rounds < 6 || rounds > 7 {
		t.Errorf("%d rounds, failed = %v, output:\n%s", rounds, failed, text)
	}
}

func TestFiltersThatDoNotMatchAreNoted(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "fn", `{"labels":{"a":"b"}}`)}}
	text, failed := printed(t, guest, Options{Handler: "fn", Object: object(t, example)})
	want := "fn (create) succeeded\nnote: the filters of fn do not match this object: an operator would not call it\n"
	if failed || text != want {
		t.Errorf("failed = %v, output:\n%s", failed, text)
	}
}

func TestReasonsChooseAmongRegistrations(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{
		guesttest.Declared(abi.KindCreate, "fn", ""), guesttest.Declared(abi.KindUpdate, "fn", ""), guesttest.Declared(abi.KindDelete, "fn", ""),
	}}
	deleting := object(t, example)
	deleting["metadata"].(dicts.Object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"the first one", Options{Object: object(t, example)}, "fn (create) succeeded\n"},
		{"an old object", Options{Object: object(t, example), Old: object(t, example)}, "fn (update) succeeded\n"},
		{"an object that is being deleted", Options{Object: deleting}, "fn (delete) succeeded\n"},
		{"the flag", Options{Object: object(t, example), Reason: "delete"}, "fn (delete) succeeded\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Handler = "fn"
			if text, _ := printed(t, guest, tt.o); text != tt.want {
				t.Errorf("output:\n%s", text)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{
		guesttest.Declared(abi.KindCreate, "create_fn", ""), guesttest.Declared(abi.KindUpdate, "update_fn", ""), guesttest.Declared(abi.KindStartup, "begin", ""),
	}}
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"a similar name", Options{Handler: "creat_fn"}, `unknown handler "creat_fn": did you mean create_fn? (handlers: begin, create_fn, update_fn)`},
		{"any name", Options{Handler: "zzzzzzzzzzzz"}, `unknown handler "zzzzzzzzzzzz" (handlers: begin, create_fn, update_fn)`},
		{"no object", Options{Handler: "create_fn"}, `the handler "create_fn" needs an object: name its file`},
		{"no old object", Options{Handler: "update_fn", Object: object(t, example)}, "an update needs the object before it: --old FILE"},
		{"another reason", Options{Handler: "create_fn", Reason: "update", Object: object(t, example)}, `the handler "create_fn" is not called for "update": it is called for create`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Call(t.Context(), guest, tt.o)
			var mistake UsageError
			if !errors.As(err, &mistake) || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// TestOneObjectIsACreation: the order of stacked decorators of Python is another one than that of registrations in Go.
func TestOneObjectIsACreation(t *testing.T) {
	do := func(c *guesttest.Call, _ *abi.Answer) *abi.Step { return guesttest.Result(`"` + c.Reason + `"`) }
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindUpdate, "greet", ""), guesttest.Declared(abi.KindCreate, "greet", "")},
		Do:       map[string]guesttest.Handler{"greet": do},
	}
	for want, o := range map[string]Options{"create": {}, "update": {Old: object(t, example)}} {
		o.Handler, o.Object = "greet", object(t, example)
		if text, failed := printed(t, guest, o); failed || !strings.Contains(text, "greet ("+want+") succeeded") {
			t.Errorf("%s: output:\n%s", want, text)
		}
	}
}

// TestFieldHandlersGetTheReasonOfTheirChange: an operator calls them for updates, creations and so on, never for "field".
func TestFieldHandlersGetTheReasonOfTheirChange(t *testing.T) {
	do := func(c *guesttest.Call, _ *abi.Answer) *abi.Step { return guesttest.Result(`"` + c.Reason + `"`) }
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindField, "renew", `{"field":["spec","field"]}`)},
		Do:       map[string]guesttest.Handler{"renew": do, "renew/spec.field": do},
	}
	old := object(t, example)
	old["spec"].(dicts.Object)["field"] = "before"
	text, failed := printed(t, guest, Options{Handler: "renew", Reason: "field", Object: object(t, example), Old: old})
	if failed || !strings.Contains(text, "result:\n  update\n") {
		t.Errorf("failed = %v, output:\n%s", failed, text)
	}
}

// TestUselessOptions: what a handler would not get is refused, and not ignored.
func TestUselessOptions(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{
		guesttest.Declared(abi.KindCreate, "create_fn", ""), guesttest.Declared(abi.KindTimer, "tick", `{"interval":1}`),
		guesttest.Declared(abi.KindValidate, "check", ""), guesttest.Declared(abi.KindStartup, "begin", ""),
	}}
	subject := object(t, example)
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Handler: "begin", Object: subject}, `the handler "begin" is called without an object: leave out its file`},
		{Options{Handler: "create_fn", Object: subject, Operation: "CREATE"}, `--operation is for admission handlers, and "create_fn" is a handler of the kind create`},
		{Options{Handler: "tick", Object: subject, Old: subject}, `--old is for handlers of changes and of admission, and "tick" is a handler of the kind timer`},
		{Options{Handler: "check", Object: subject, Old: subject, Operation: "DELETE"}, "--old is for updates: leave it out with --operation DELETE"},
	} {
		_, err := Call(t.Context(), guest, tt.o)
		var mistake UsageError
		if !errors.As(err, &mistake) || err.Error() != tt.want {
			t.Errorf("error = %v, want %s", err, tt.want)
		}
	}
}

// TestHugeOptions: neither the time of the first attempt nor that of the cancellation overflows.
func TestHugeOptions(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindDaemon, "daemon", ""), guesttest.Declared(abi.KindCreate, "fn", "")},
		Do: map[string]guesttest.Handler{
			"daemon": func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
				if answer != nil && len(answer.Stopped) > 0 {
					return guesttest.Result(`"` + answer.Stopped[0] + `"`)
				}
				return guesttest.Wait(3e9)
			},
			"fn": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				if c.Started > time.Now().Format(time.RFC3339) {
					return guesttest.Permanent("it was started at " + c.Started)
				}
				return guesttest.Result(`"ok"`)
			},
		},
	}
	if text, failed := printed(t, guest, Options{Handler: "daemon", Object: object(t, example), Lifetime: math.MaxInt64}); failed || text != "daemon (daemon) succeeded\nresult:\n  operator_exiting\n" {
		t.Errorf("failed = %v, output:\n%s", failed, text)
	}
	if text, failed := printed(t, guest, Options{Handler: "fn", Object: object(t, example), Retry: math.MaxInt32}); failed {
		t.Errorf("output:\n%s", text)
	}
}

// TestSubHandlersAreCalled: their progress is no part of the patch.
func TestSubHandlersAreCalled(t *testing.T) {
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "parent", "")},
		Do: map[string]guesttest.Handler{
			"parent": func(*guesttest.Call, *abi.Answer) *abi.Step {
				step := guesttest.Result(`"done"`)
				step.Children = []abi.Handler{{Kind: abi.KindSub, ID: "a"}}
				return step
			},
			"parent/a": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				c.Log(20, "a child")
				return guesttest.Patch(`{"status":{"child":true}}`)
			},
		},
	}
	text, failed := printed(t, guest, Options{Handler: "parent", Object: object(t, example)})
	want := "parent (create) succeeded\nresult:\n  done\npatch:\n  status:\n    child: true\nlog:\n  info     a child\n"
	if diff := cmp.Diff(want, text); diff != "" || failed {
		t.Errorf("failed = %v, output (-want +got):\n%s", failed, diff)
	}
}
