package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// result runs a handler that is done at once and returns its result.
func result(t *testing.T, m *Module, what string, env Env) string {
	t.Helper()
	task, step, err := m.Start(t.Context(), invoke(what), nil, env)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer task.Release(t.Context())
	if step.Step != abi.StepDone {
		t.Errorf("%s: step %q", what, step.Step)
	}
	return string(step.Result)
}

func TestDone(t *testing.T) {
	m := loadGo(t, Options{})
	task, step, err := m.Start(t.Context(), invoke("body"), []byte(`{"metadata":{"name":"obj1"}}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if step.Step != abi.StepDone || string(step.Result) != `"obj1"` {
		t.Errorf("step = %+v", step)
	}
	if _, err := task.Resume(t.Context(), abi.Answer{}); err == nil || errors.Is(err, abi.ErrGuest) {
		t.Errorf("resuming a done task: %v", err)
	}
}

func TestWaitAndResume(t *testing.T) {
	m := loadGo(t, Options{})
	task, step, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if step.Step != abi.StepWait || step.Seconds == nil || *step.Seconds != 5 {
		t.Errorf("step = %+v", step)
	}
	step, err = task.Resume(t.Context(), abi.Answer{Stopped: []string{"operator_exiting"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(step.Result); got != `{"cancelled":false,"pending":false,"stopped":["operator_exiting"]}` {
		t.Errorf("result = %s", got)
	}
}

func TestCancelReachesTheGuest(t *testing.T) {
	m := loadGo(t, Options{})
	task, step, err := m.Start(t.Context(), invoke("wait forever"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if step.Seconds != nil {
		t.Errorf("seconds = %v", *step.Seconds)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	step, err = task.Resume(t.Context(), abi.Answer{})
	if err != nil || !strings.Contains(string(step.Result), `"cancelled":true`) {
		t.Errorf("step = %+v, error = %v", step, err)
	}
}

func TestChildrenRunOnTheInstanceOfTheirParent(t *testing.T) {
	m := loadGo(t, Options{})
	env := &testEnv{}
	parent, step, err := m.Start(t.Context(), invoke("children"), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if step.Step != abi.StepExecute || len(step.Children) != 2 || step.Children[1].ID != "b" {
		t.Fatalf("step = %+v", step)
	}
	inv := invoke("child")
	inv.ID, inv.Handler = "fn/b", 1
	child, step, err := parent.Start(t.Context(), inv, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if inv.Parent != 0 {
		t.Error("the invocation of the caller is changed")
	}
	if child.in != parent.in || string(step.Result) != `"fn/b of 1 at 1"` {
		t.Errorf("result = %s", step.Result)
	}
	child.Release(t.Context())
	if step, err = parent.Resume(t.Context(), abi.Answer{Pending: true}); err != nil || !strings.Contains(string(step.Result), `"pending":true`) {
		t.Errorf("step = %+v, error = %v", step, err)
	}
	parent.Release(t.Context())
	if len(m.pool.idle) != 1 {
		t.Errorf("%d idle instances", len(m.pool.idle))
	}
}

func TestTransform(t *testing.T) {
	m := loadGo(t, Options{})
	task, step, err := m.Start(t.Context(), invoke("transform"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if step.Transforms != 2 {
		t.Fatalf("step = %+v", step)
	}
	for range 2 { // it can be repeated
		got, err := task.Transform(t.Context(), []byte(`{"spec":{"a":"old","b":1,"c":2}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(`{"spec":{"a":"new","c":2}}`, string(got)); diff != "" {
			t.Error(diff)
		}
	}
	var handler *HandlerError
	_, err = task.Transform(t.Context(), []byte(`{"fail":true}`))
	if !errors.As(err, &handler) || handler.Guest.Kind != abi.ErrorPermanent || err.Error() != "no" || errors.Is(err, abi.ErrGuest) {
		t.Errorf("error = %v", err)
	}
}

func TestAsk(t *testing.T) {
	m := loadGo(t, Options{})
	q := &abi.Questions{Invocation: abi.Invocation{Name: "yes"}, Questions: []abi.Question{{Handler: 0}, {Handler: 1}}}
	answers, err := m.Ask(t.Context(), q, []byte(`{}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if string(answers.Answers[0].Value) != "true" || answers.Answers[1].Error.Message != "callback failed" {
		t.Errorf("answers = %+v", answers)
	}
	q.Questions = []abi.Question{{Handler: 2}} // the guest does not answer
	if _, err = m.Ask(t.Context(), q, nil, &testEnv{}); !errors.Is(err, ErrMessage) {
		t.Errorf("error = %v", err)
	}
	task, _, err := m.Start(t.Context(), invoke("after"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	q.Questions = []abi.Question{{Handler: 0}}
	if answers, err = task.Ask(t.Context(), q, nil, &testEnv{}); err != nil || string(answers.Answers[0].Value) != "true" {
		t.Errorf("answers = %+v, error = %v", answers, err)
	}
	if q.Questions[0].Parent != 0 {
		t.Error("the questions of the caller are changed")
	}
}

func TestQuestionsOfTheGuest(t *testing.T) {
	m := loadGo(t, Options{
		Config:  map[string]string{"key": "value"},
		Secrets: map[string]string{"secret": "hush"},
	})
	env := &testEnv{}
	var got map[string]any
	if err := json.Unmarshal([]byte(result(t, m, "questions", env)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"old": `{"old":true}`, "none": "-1", "foreign": "-6", "stopped": 16.0,
		"config": "value", "secret": "hush", "missing": "-1",
		"event": 0.0, "bad event": -6.0,
		"set": 1.0, "conflict": -2.0, "not json": -6.0,
		"get":   "\x01\x00\x00\x00\x00\x00\x00\x00" + `{"v":1}`,
		"index": `at "key"`, "no index": "-1", "fault": -3.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]abi.Event{{Type: "Normal", Reason: "R", Message: "M"}}, env.events); diff != "" {
		t.Error(diff)
	}
}

func TestLog(t *testing.T) {
	m := loadGo(t, Options{})
	env := &testEnv{}
	result(t, m, "log", env)
	if diff := cmp.Diff([]string{"20 hello obj1"}, env.logs); diff != "" {
		t.Error(diff)
	}
}

// TestLogApart: lines with the task 0 belong to no object. Those of unknown tasks are dropped.
func TestLogApart(t *testing.T) {
	var lines []string
	m := loadGo(t, Options{Log: func(level int, text string) { lines = append(lines, fmt.Sprint(level, " ", text)) }})
	env := &testEnv{}
	result(t, m, "log apart", env)
	if diff := cmp.Diff([]string{"30 hello obj1"}, lines); diff != "" || len(env.logs) > 0 {
		t.Errorf("%s\nthe object's log is %q", diff, env.logs)
	}
}

func TestLogOutsideOfTheMemory(t *testing.T) {
	m := loadGo(t, Options{})
	env := &testEnv{}
	result(t, m, "log outside", env)
	want := "40 The module called log with 1024 bytes at the address 0xfffffff7, but its memory has "
	if len(env.logs) != 1 || !strings.HasPrefix(env.logs[0], want) {
		t.Errorf("the log is %q instead of %q", env.logs, want)
	}
}

func TestInstancesAreReused(t *testing.T) {
	m := loadGo(t, Options{})
	for _, want := range []string{"1", "2", "3"} {
		if got := result(t, m, "count", &testEnv{}); got != want {
			t.Errorf("count = %s, want %s", got, want)
		}
	}
}

func TestInstancesAreNotShared(t *testing.T) {
	m := loadGo(t, Options{})
	first, step, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release(t.Context())
	if string(step.Result) != "1" || result(t, m, "count", &testEnv{}) != "1" {
		t.Error("two tasks at a time share an instance")
	}
}

func TestTooManyInstances(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1})
	task, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err = m.Start(ctx, invoke("count"), nil, &testEnv{})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, abi.ErrGuest) {
		t.Errorf("error = %v", err)
	}
	go func() { // waited for by the next result
		time.Sleep(20 * time.Millisecond)
		task.Release(context.Background())
	}()
	if got := result(t, m, "count", &testEnv{}); got != "1" {
		t.Errorf("count = %s: the instance of an unfinished task is used again", got)
	}
}

func TestRetirement(t *testing.T) {
	m := loadGo(t, Options{RetireCalls: 2})
	for _, want := range []string{"1", "2", "1"} {
		if got := result(t, m, "count", &testEnv{}); got != want {
			t.Errorf("count = %s, want %s", got, want)
		}
	}
	m = loadGo(t, Options{RetireMemory: 1})
	for range 2 {
		if got := result(t, m, "count", &testEnv{}); got != "1" {
			t.Errorf("count = %s beyond the bound", got)
		}
	}
}

func TestReleaseIsIdempotent(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1})
	task, _, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	other, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release(t.Context())
	task.Release(t.Context())
	if _, err := other.Resume(t.Context(), abi.Answer{}); err != nil {
		t.Error(err)
	}
	if _, err := task.Resume(t.Context(), abi.Answer{}); err == nil {
		t.Error("a released task can be resumed")
	}
}

func TestReleaseAfterTheEndOfTheContext(t *testing.T) {
	m := loadGo(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	task, _, err := m.Start(ctx, invoke("after"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	task.Release(ctx)
	if len(m.pool.idle) != 1 {
		t.Error("the instance is lost")
	}
}

func TestClose(t *testing.T) {
	m := loadGo(t, Options{})
	task, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := task.Resume(t.Context(), abi.Answer{}); !errors.Is(err, abi.ErrInstanceLost) {
		t.Errorf("error = %v", err)
	}
	task.Release(t.Context())
	if _, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{}); !errors.Is(err, errClosed) {
		t.Errorf("error = %v", err)
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	m := loadGo(t, Options{ComputeLimit: 100 * time.Millisecond})
	ended := make(chan error)
	go func() { // waited for below
		_, _, err := m.Start(context.Background(), invoke("spin"), nil, &testEnv{})
		ended <- err
	}()
	for len(m.pool.permits) == 0 {
		time.Sleep(time.Millisecond)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := m.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closing under a running call: %v", err)
	}
	if err := <-ended; !errors.Is(err, ErrCompute) {
		t.Errorf("error = %v", err)
	}
}

// keepingEnv counts what the host keeps.
type keepingEnv struct {
	testEnv
	kept int
}

func (e *keepingEnv) Keep(_ uint32, bytes int) error {
	e.kept = bytes
	return nil
}

// TestNothingIsKeptAfterTheRelease: functions of a patch, and the release itself, may ask for parts of the invocation, and make
// requests. What the host keeps of these would count in the account of the operator for ever.
func TestNothingIsKeptAfterTheRelease(t *testing.T) {
	const bodyAt, body = textAt + 1000, `{"body":{}}`
	ask := asm.Cat(asm.Get(0), asm.I32Const(abi.TagOld), asm.I32Const(0), asm.I32Const(0), asm.Call(0), asm.Drop)
	g := answering(`{"step":"done","transforms":1}`).
		With(asm.Func{Export: "kopf_transform", Params: three, Results: []byte{asm.I64}, Code: asm.Cat(ask, asm.Text(bodyAt, body))}).
		With(asm.Func{Export: "kopf_release", Params: []byte{asm.I32}, Code: ask})
	g.Imports = []asm.Import{{Module: abi.ImportModule, Name: abi.ImportSegment, Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I64}}}
	g.Data = append(g.Data, asm.Data{Offset: bodyAt, Bytes: body})
	m, err := load(t, g.Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &keepingEnv{}
	task, _, err := m.Start(t.Context(), invoke(""), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Transform(t.Context(), []byte(`{}`)); err != nil || env.kept == 0 {
		t.Errorf("%v, %d bytes are kept for the function", err, env.kept)
	}
	if task.Release(t.Context()); env.kept != 0 {
		t.Errorf("%d bytes are kept after the release", env.kept)
	}
}
