package guest

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// newModule is a module with one handler.
func newModule(run func(*Task) Done) *Module {
	m := &Module{Host: Noone{}}
	m.Add(&Handler{Declaration: abi.Handler{Kind: abi.KindCreate, ID: "fn"}, Run: run}, nil)
	return m
}

// frame is what start gets.
func frame(header, body string) []byte {
	return abi.AppendFrame(nil, abi.Segment{Tag: abi.TagHeader, Data: []byte(header)}, abi.Segment{Tag: abi.TagBody, Data: []byte(body)})
}

// want compares a message with its JSON form, but for the stack of an error.
func want(t *testing.T, got []byte, text string) {
	t.Helper()
	var g, w map[string]any
	if err := errors.Join(json.Unmarshal(got, &g), json.Unmarshal([]byte(text), &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if e, ok := g["error"].(map[string]any); ok {
		delete(e, "stack")
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, text)
	}
}

func wait(t *Task) abi.Answer {
	seconds := 1.5
	return t.Ask(&abi.Step{Step: abi.StepWait, Seconds: &seconds})
}

func TestTaskIsForgottenAtItsEnd(t *testing.T) {
	m := newModule(func(t *Task) Done {
		answer := wait(t)
		return Done{Outcome: abi.Outcome{Result: abi.Raw(`"` + strings.Join(answer.Stopped, ",") + `"`)}}
	})
	want(t, m.Start(7, frame(`{"handler": 0}`, `{}`)), `{"step": "wait", "seconds": 1.5}`)
	if m.Pending() != 1 {
		t.Errorf("%d tasks while one waits", m.Pending())
	}
	want(t, m.Resume(7, []byte(`{"stopped": ["done", "x"]}`)), `{"step": "done", "result": "done,x"}`)
	if m.Pending() != 0 {
		t.Errorf("%d tasks after the end", m.Pending())
	}
}

func TestTaskLivesOnWithTransformations(t *testing.T) {
	m := newModule(func(*Task) Done {
		var edits Transforms
		edits.Add(func(body map[string]any) error {
			body["n"] = body["n"].(int64) + 1
			return nil
		})
		return Done{Transforms: edits}
	})
	want(t, m.Start(1, frame(`{}`, ``)), `{"step": "done", "transforms": 1}`)
	want(t, m.Transform(1, []byte(`{"n": 1}`)), `{"body": {"n": 2}}`)
	want(t, m.Transform(1, []byte(`{"n": 5}`)), `{"body": {"n": 6}}`)
	want(t, m.Transform(1, []byte(`{"n": "x"}`)), `{"error": {"kind": "arbitrary", "type": "*runtime.TypeAssertionError",
		"message": "panic: interface conversion: interface {} is string, not int64"}}`)
	want(t, m.Transform(1, []byte(`[]`)), `{"error": {"kind": "arbitrary", "message": "the body is not an object"}}`)
	m.Release(1)
	want(t, m.Transform(1, []byte(`{}`)), `{"error": {"kind": "arbitrary", "message": "no such task to transform"}}`)
}

func TestCancel(t *testing.T) {
	m := newModule(func(t *Task) Done {
		before := t.Context()
		wait(t)
		if before.Err() == nil || t.Context().Err() == nil || FromContext(before) != t {
			return Done{}
		}
		wait(t) // again, as cleaning up may
		return Done{Outcome: abi.Outcome{Result: abi.Raw(`"cancelled"`)}}
	})
	m.Start(1, frame(`{}`, ``))
	m.Cancel(1)
	m.Cancel(99)
	want(t, m.Resume(1, []byte(`{"cancelled": true}`)), `{"step": "wait", "seconds": 1.5}`)
	want(t, m.Resume(1, []byte(`{"cancelled": true}`)), `{"step": "done", "result": "cancelled"}`)
}

func TestChildrenByTheirParent(t *testing.T) {
	child := func(name string) *Handler {
		return &Handler{Declaration: abi.Handler{Kind: abi.KindSub, ID: name}, Run: func(t *Task) Done {
			return Done{Outcome: abi.Outcome{Result: abi.Raw(`"` + name + t.Call.Reason + `"`)}}
		}}
	}
	m := newModule(func(t *Task) Done {
		if t.Execute([]*Handler{child("a")}, "all_at_once", abi.Raw(`{"status": {"phase": "begun"}}`)) {
			return Done{Outcome: abi.Outcome{Error: &abi.Error{Kind: abi.ErrorChildren}}}
		}
		return Done{Children: []*Handler{child("b"), child("c")}}
	})
	want(t, m.Start(1, frame(`{}`, ``)), `{"step": "execute", "lifecycle": "all_at_once",
		"patch": {"status": {"phase": "begun"}}, "children": [{"kind": "sub", "id": "a"}]}`)
	want(t, m.Start(2, frame(`{"handler": 0, "parent": 1, "reason": "!"}`, ``)), `{"step": "done", "result": "a!"}`)
	want(t, m.Start(3, frame(`{"handler": 1, "parent": 1, "id": "x"}`, ``)), `{"step": "done",
		"error": {"kind": "arbitrary", "message": "no such handler: x"}}`)
	want(t, m.Resume(1, []byte(`{}`)), `{"step": "done", "children": [{"kind": "sub", "id": "b"}, {"kind": "sub", "id": "c"}]}`)
	want(t, m.Start(4, frame(`{"handler": 1, "parent": 1}`, ``)), `{"step": "done", "result": "c"}`)
	m.Release(1)
	if m.Pending() != 0 {
		t.Errorf("%d tasks are left", m.Pending())
	}
}

func TestPendingChildren(t *testing.T) {
	m := newModule(func(t *Task) Done {
		if t.Execute(nil, "", nil) {
			return Done{Outcome: abi.Outcome{Error: &abi.Error{Kind: abi.ErrorChildren}}}
		}
		return Done{}
	})
	want(t, m.Start(1, frame(`{}`, ``)), `{"step": "execute"}`)
	want(t, m.Resume(1, []byte(`{"pending": true}`)), `{"step": "done", "error": {"kind": "children", "message": ""}}`)
}

func TestHandlersThatDoNotReturn(t *testing.T) {
	tests := []struct {
		name string
		run  func(*Task) Done
		want string
	}{
		{"panic with a text", func(*Task) Done { panic("boo") }, `{"kind": "arbitrary", "message": "panic: boo", "type": "string"}`},
		{
			"panic with an error", func(*Task) Done { panic(errors.New("boo")) },
			`{"kind": "arbitrary", "message": "panic: boo", "type": "*errors.errorString"}`,
		},
		{"panic with a value", func(*Task) Done { panic([]int{1}) }, `{"kind": "arbitrary", "message": "panic: [1]", "type": "[]int"}`},
		{"panic with no value of JSON", func(*Task) Done { panic(func() {}) }, `{"kind": "arbitrary", "message": "panic: ", "type": "func()"}`},
		{"panic in a deferred function", func(*Task) Done {
			defer func() { panic("second") }()
			panic("first")
		}, `{"kind": "arbitrary", "message": "panic: second", "type": "string"}`},
		{
			"end of the goroutine", func(*Task) Done { runtime.Goexit(); return Done{} },
			`{"kind": "arbitrary", "message": "the goroutine of the handler ended without a return"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want(t, newModule(tt.run).Start(1, frame(`{}`, ``)), `{"step": "done", "error": `+tt.want+`}`)
		})
	}
}

func TestStackBeginsWhereItPanicked(t *testing.T) {
	failed := Try(func() { panicsHere() })
	lines := strings.Split(failed.Stack, "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "goroutine ") || !strings.Contains(lines[1], ".panicsHere(") {
		t.Errorf("the stack begins elsewhere:\n%s", failed.Stack)
	}
}

//go:noinline
func panicsHere() { panic("here") }

func TestCallsAgainstTheContract(t *testing.T) {
	m := newModule(func(t *Task) Done { wait(t); return Done{} })
	failure := func(message string) string {
		return `{"step": "done", "error": {"kind": "arbitrary", "message": "` + message + `"}}`
	}
	want(t, m.Start(1, []byte("short")), failure("malformed frame"))
	want(t, m.Start(1, frame(`{"handler"`, ``)), failure("malformed JSON"))
	want(t, m.Start(1, nil), failure("malformed JSON"))
	want(t, m.Start(1, frame(`{"handler": 1, "id": "x"}`, ``)), failure("no such handler: x"))
	want(t, m.Start(1, frame(`{"handler": -1}`, ``)), failure("no such handler: "))
	want(t, m.Start(1, frame(`{"handler": 0, "parent": 5}`, ``)), failure("no such handler: "))
	want(t, m.Resume(1, []byte(`{}`)), failure("no such task to resume"))
	m.Start(1, frame(`{}`, ``))
	want(t, m.Resume(1, []byte(`[]`)), failure("malformed JSON"))
	want(t, m.Resume(1, []byte(`{}`)), `{"step": "done"}`)
	want(t, m.Register([]byte(`x`)), `{"handlers": [], "error": "malformed JSON"}`)
}

func TestRegister(t *testing.T) {
	m := newModule(nil)
	m.Lifecycle, m.Operator = "shuffled", abi.OperatorInfo{Name: "demo"}
	m.Want(abi.Capabilities{HTTP: []string{"example.com"}})
	m.Setup(func() error {
		if greeting, _ := m.Config("greeting"); greeting != "hello" {
			return errors.New("no greeting")
		}
		m.Add(&Handler{Declaration: abi.Handler{Kind: abi.KindProbe, ID: "late"}}, nil)
		return nil
	})
	want(t, m.Register([]byte(`{"abi": 1, "config": {"greeting": "hello"}}`)), `{"sdk": "go 0.1.0", "operator": {"name": "demo"},
		"handlers": [{"kind": "create", "id": "fn"}, {"kind": "probe", "id": "late"}], "lifecycle": "shuffled", "shared_tasks": true,
		"capabilities": {"http": ["example.com"]}}`)
}

func TestRegisterTellsAllProblems(t *testing.T) {
	m := newModule(nil)
	m.Add(&Handler{}, errors.New("bad"))
	m.Setup(func() error { return errors.New("worse") })
	m.Setup(func() error { panic("worst") })
	var r abi.Registration
	if err := json.Unmarshal(m.Register([]byte(`{}`)), &r); err != nil {
		t.Fatal(err)
	}
	if want := "handler 2: bad; worse; panic: worst"; r.Error != want {
		t.Errorf("error %q, want %q", r.Error, want)
	}
}

func TestAsk(t *testing.T) {
	m := newModule(nil)
	for option, fn := range map[Option]Callback{
		{"value", ""}:         func(_ *Task, v abi.Value) (any, error) { return string(v.Value) == "1", nil },
		{"labels", "app"}:     func(t *Task, _ abi.Value) (any, error) { return t.Call.Name == "obj", nil },
		{"when", ""}:          func(*Task, abi.Value) (any, error) { return nil, errors.New("boo") },
		{"initial_delay", ""}: func(*Task, abi.Value) (any, error) { return 0.5, nil },
	} {
		m.handlers[0].Callbacks.Set(option, fn)
	}
	tests := []struct{ name, callbacks, want string }{
		{"no callbacks", ``, `{"value": true}`},
		{"one of the values", `{"option": "value", "values": [{"value": 2}, {"value": 1}]}`, `{"value": true}`},
		{"none of the values", `{"option": "value", "values": [{"value": 2}, {"absent": true}]}`, `{"value": false}`},
		{"all callbacks", `{"option": "labels", "key": "app"}, {"option": "value", "values": [{"value": 1}]}`, `{"value": true}`},
		{"the first false ends it", `{"option": "value", "values": [{"value": 2}]}, {"option": "when"}`, `{"value": false}`},
		{"error", `{"option": "when"}`, `{"error": {"kind": "arbitrary", "message": "boo", "type": "*errors.errorString"}}`},
		{"value that is not a boolean", `{"option": "initial_delay"}`, `{"value": 0.5}`},
		{"unknown key", `{"option": "labels", "key": "x"}`, `{"error": {"kind": "arbitrary", "message": "no such callback: labels"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := `{"name": "obj", "questions": [{"handler": 0, "callbacks": [` + tt.callbacks + `]}, {"handler": 9}]}`
			want(t, m.Ask(1, frame(header, `{}`)), `{"answers": [`+tt.want+`, {"error": {"kind": "arbitrary", "message": "no such handler"}}]}`)
		})
	}
}

func TestFiltersCannotWait(t *testing.T) {
	answer := wait(&Task{})
	if answer.Error == nil || answer.Error.Message != "filters cannot wait" {
		t.Errorf("answered %+v", answer)
	}
}

// TestMalformedQuestions: an answer is about the question at its position.
func TestMalformedQuestions(t *testing.T) {
	m := newModule(nil)
	got := string(m.Ask(1, frame(`{"questions": [{"handler" 0}, {"handler": 0, "callbacks": []}]}`, `{}`)))
	if strings.Count(got, `"error"`) != 2 {
		t.Errorf("answered %s", got)
	}
}

// TestExecutionsOfGoroutines: the host starts children by their positions in the list that it got last.
func TestExecutionsOfGoroutines(t *testing.T) {
	child := func(id string) []*Handler {
		run := func(*Task) Done { return Done{Outcome: abi.Outcome{Result: abi.Raw(`"` + id + `"`)}} }
		return []*Handler{{Declaration: abi.Handler{Kind: abi.KindSub, ID: id}, Run: run}}
	}
	m := newModule(func(t *Task) Done {
		ended := make(chan bool)
		go func() {
			t.Execute(child("b"), "", nil)
			ended <- true
		}()
		t.Execute(child("a"), "", nil)
		<-ended
		return Done{}
	})
	answer := m.Start(7, frame(`{"handler": 0, "id": "fn"}`, `{}`))
	for range 2 {
		time.Sleep(20 * time.Millisecond) // the other goroutine continues natively
		var step struct{ Children []struct{ ID string } }
		if err := json.Unmarshal(answer, &step); err != nil || len(step.Children) != 1 {
			t.Fatalf("step %s, %v", answer, err)
		}
		want(t, m.Start(8, frame(`{"handler": 0, "parent": 7, "id": "fn/x"}`, `{}`)), `{"step": "done", "result": "`+step.Children[0].ID+`"}`)
		answer = append([]byte(nil), m.Resume(7, []byte(`{}`))...)
	}
	want(t, answer, `{"step": "done"}`)
}
