package daemons

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// pausing is a guest whose handlers make a request. It looks around when the answer comes.
type pausing struct {
	*reactortest.Scripted
	look func()
}

func (g pausing) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	task, step, err := g.Scripted.Start(ctx, inv, body, e)
	return pausingTask{task.(*reactortest.ScriptedTask), g}, step, err
}

type pausingTask struct {
	*reactortest.ScriptedTask
	guest pausing
}

func (t pausingTask) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	t.guest.look()
	return t.ScriptedTask.Resume(ctx, answer)
}

// TestRequestsKeepNoBody: each of many timers can have a request under way that it has made with another version of the object, of which
// only the newest one counts.
func TestRequestsKeepNoBody(t *testing.T) {
	s := newScene(t, &reactortest.Scripted{Attempts: []string{`{"step":"call","call":{"target":"http","method":"GET","path":"/"}}`}}, `{"metadata":{"name":"obj1"}}`)
	b := s.newLife(t, `{"kind":"timer","id":"fn","interval":5,"resource":{"args":["x"]}}`)
	former := func() weak.Pointer[byte] {
		body := []byte(`{"metadata":{"name":"obj1"},"spec":"` + strings.Repeat("x", 1<<20) + `"}`)
		if err := b.memory.Follow(nil, body); err != nil {
			t.Fatal(err)
		}
		return weak.Make(&body[0])
	}()
	looked := false
	b.handler.Starter = pausing{s.guest, func() {
		looked = true
		if err := b.memory.Follow(nil, s.cause.Raw); err != nil {
			t.Error(err)
		}
		if runtime.GC(); former.Value() != nil {
			t.Error("the former version of the object is still in memory")
		}
	}}
	if _, err := b.attempt(t.Context()); err != nil || !looked {
		t.Errorf("looked: %t, error %v", looked, err)
	}
}

// TestDaemonsDeclareNoChildren: what is wrong has a name also after a wait, when the daemon has no patch yet.
func TestDaemonsDeclareNoChildren(t *testing.T) {
	for _, first := range []string{``, `{"step":"wait","seconds":0}`, `{"step":"call","call":{"target":"http","method":"GET","path":"/"}}`} {
		script := []string{`{"step":"execute","patch":{"status":{"a":1}},"children":[]}`}
		if first != "" {
			script = append([]string{first}, script...)
		}
		s := newScene(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": script}}, `{"metadata":{"name":"obj1"}}`)
		b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
		next, err := b.attempt(t.Context())
		if first == `{"step":"wait","seconds":0}` && err == nil {
			_, err = next.then(t.Context())
		}
		if err != nil || !strings.Contains(s.log.String(), "only handlers of changes can have sub-handlers") {
			t.Errorf("after %q: %v\n%s", first, err, &s.log)
		}
	}
}
