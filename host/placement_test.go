package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/kopf-wasm/kopf/abi"
)

// daemon is the invocation of a daemon that does something.
func daemon(what string) *abi.Invocation {
	inv := invoke(what)
	inv.Kind = abi.KindDaemon
	return inv
}

// startDaemons starts waiting daemons.
func startDaemons(t *testing.T, m *Module, count int) []*Task {
	t.Helper()
	tasks := make([]*Task, count)
	for i := range tasks {
		task, step, err := m.Start(t.Context(), daemon("wait"), nil, &testEnv{})
		if err != nil || step.Step != abi.StepWait {
			t.Fatalf("daemon %d: %v, %v", i, step, err)
		}
		tasks[i] = task
	}
	return tasks
}

func TestDaemonsShareInstances(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1, SharedTasks: 10, Config: map[string]string{"shared": "yes"}})
	tasks := startDaemons(t, m, 25)
	if got := len(m.pool.daemons); got != 3 {
		t.Errorf("25 daemons live on %d instances, want 3", got)
	}
	task, _, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
	if err != nil {
		t.Fatalf("a handler next to daemons: %v", err)
	}
	if task.in.load > 0 {
		t.Error("a handler shares an instance with daemons")
	}
	task.Release(t.Context())
	for _, task := range tasks {
		task.Release(t.Context())
	}
	if got := len(m.pool.daemons); got != 0 || len(m.pool.shared) != 0 {
		t.Errorf("%d instances are still in use, %d shared", got, len(m.pool.shared))
	}
}

func TestDaemonsOfOtherGuestsDoNotShare(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1, MaxDaemons: 3})
	tasks := startDaemons(t, m, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := m.Start(ctx, daemon("wait"), nil, &testEnv{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a daemon over the limit: %v", err)
	}
	for _, task := range tasks {
		task.Release(t.Context())
	}
	if got := len(m.pool.daemons); got != 0 {
		t.Errorf("%d instances are still in use", got)
	}
}

// TestNeighboursOfFailedDaemon shows that tasks on a destroyed instance get an error, and that new daemons get another
// instance.
func TestNeighboursOfFailedDaemon(t *testing.T) {
	m := loadGo(t, Options{SharedTasks: 10, Config: map[string]string{"shared": "yes"}})
	tasks := startDaemons(t, m, 3)
	if _, _, err := m.Start(t.Context(), daemon("panic"), nil, &testEnv{}); !errors.Is(err, abi.ErrGuest) || errors.Is(err, abi.ErrInstanceLost) {
		t.Fatalf("the culprit: %v", err)
	}
	if _, err := tasks[0].Resume(t.Context(), abi.Answer{}); !errors.Is(err, abi.ErrInstanceLost) {
		t.Errorf("a neighbour: %v, want abi.ErrInstanceLost", err)
	}
	next := startDaemons(t, m, 1)
	if next[0].in == tasks[0].in {
		t.Error("a new daemon was placed on a dead instance")
	}
	for _, task := range append(tasks, next...) {
		task.Release(t.Context())
	}
	if got := len(m.pool.daemons); got != 0 || len(m.pool.shared) != 0 {
		t.Errorf("%d instances are still in use, %d shared", got, len(m.pool.shared))
	}
}

// TestRetiredInstancesGetNoMoreDaemons: those that it has live on.
func TestRetiredInstancesGetNoMoreDaemons(t *testing.T) {
	m := loadGo(t, Options{SharedTasks: 10, RetireCalls: 3, Config: map[string]string{"shared": "yes"}})
	tasks := startDaemons(t, m, 7)
	if got := len(m.pool.daemons); got != 3 {
		t.Errorf("7 daemons live on %d instances, want 3", got)
	}
	for _, task := range tasks {
		if _, err := task.Resume(t.Context(), abi.Answer{}); err != nil {
			t.Error(err)
		}
		task.Release(t.Context())
	}
	if got := len(m.pool.daemons); got != 0 || len(m.pool.shared) != 0 {
		t.Errorf("%d instances are still in use, %d shared", got, len(m.pool.shared))
	}
}

// TestWaitingDaemonsKeepNoBody: the UID of an invocation is a part of the text of the object, which may be large, and which is not
// counted after the call.
func TestWaitingDaemonsKeepNoBody(t *testing.T) {
	m := loadGo(t, Options{Config: map[string]string{"shared": "yes"}})
	task, body := func() (*Task, weak.Pointer[byte]) {
		text := strings.Repeat("x", 1<<20)
		inv := daemon("wait")
		inv.UID = text[1000:1036]
		task, _, err := m.Start(t.Context(), inv, nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		return task, weak.Make(unsafe.StringData(text))
	}()
	if runtime.GC(); body.Value() != nil {
		t.Error("the object is still in memory")
	}
	task.Release(t.Context())
}

// TestCulpritsRunAlone shows that a task that has destroyed a shared instance gets an exclusive one, and cannot harm other
// tasks again.
func TestCulpritsRunAlone(t *testing.T) {
	m := loadGo(t, Options{SharedTasks: 10, Config: map[string]string{"shared": "yes"}})
	startDaemons(t, m, 2)
	culprit := daemon("panic")
	culprit.UID = "bad"
	if _, _, err := m.Start(t.Context(), culprit, nil, &testEnv{}); err == nil {
		t.Fatal("no panic")
	}
	others := startDaemons(t, m, 2)
	for range 3 {
		if _, _, err := m.Start(t.Context(), culprit, nil, &testEnv{}); err == nil || errors.Is(err, abi.ErrInstanceLost) {
			t.Fatalf("the culprit: %v", err)
		}
	}
	for _, task := range others {
		if _, err := task.Resume(t.Context(), abi.Answer{}); err != nil {
			t.Errorf("a neighbour: %v", err)
		}
		task.Release(t.Context())
	}
}

func TestCulpritsAreForgottenInTheirOrder(t *testing.T) {
	var c culprits
	daemon := func(i int) culprit { return culprit{fmt.Sprint("handler", i%2), fmt.Sprint(i)} }
	for i := range maxCulprits + 5 {
		c.add(daemon(i))
		c.add(daemon(i))
	}
	if len(c.known) != maxCulprits || len(c.order) != maxCulprits || c.known[daemon(4)] || !c.known[daemon(5)] {
		t.Errorf("%d are known, %d in order", len(c.known), len(c.order))
	}
	if c.of["handler0"]+c.of["handler1"] != maxCulprits {
		t.Errorf("of handlers: %v", c.of)
	}
}

// TestHandlersOfManyCulpritsRunAlone: otherwise each daemon that fails starts all those again that have not failed yet.
func TestHandlersOfManyCulpritsRunAlone(t *testing.T) {
	m := loadGo(t, Options{SharedTasks: 100, Config: map[string]string{"shared": "yes"}})
	tasks := startDaemons(t, m, 3)
	for i := range maxCulpritsOfHandler {
		bad := daemon("panic")
		bad.UID = fmt.Sprint("bad", i)
		if _, _, err := m.Start(t.Context(), bad, nil, &testEnv{}); err == nil {
			t.Fatal("no panic")
		}
		for _, task := range tasks {
			task.Release(t.Context())
		}
		tasks = startDaemons(t, m, 3)
	}
	next := daemon("panic")
	next.UID = "next"
	if _, _, err := m.Start(t.Context(), next, nil, &testEnv{}); err == nil {
		t.Fatal("no panic")
	}
	for _, task := range tasks {
		if _, err := task.Resume(t.Context(), abi.Answer{}); err != nil {
			t.Errorf("a neighbour of a handler whose daemons fail: %v", err)
		}
		task.Release(t.Context())
	}
}

// TestReviewsHaveAReserve: they never wait for handlers, nor do their filters.
func TestReviewsHaveAReserve(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 1, MaxReviews: 1})
	holder, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release(t.Context())
	for _, kind := range []abi.Kind{abi.KindValidate, abi.KindMutate, abi.KindConvert} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		inv := invoke("count")
		inv.Kind = kind
		task, _, err := m.Start(ctx, inv, nil, &testEnv{})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		task.Release(ctx)
		questions := &abi.Questions{Invocation: abi.Invocation{Kind: kind}}
		if _, err := m.Ask(ctx, questions, nil, &testEnv{}); err != nil {
			t.Errorf("filters of %s: %v", kind, err)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := m.Start(ctx, invoke("count"), nil, &testEnv{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a handler over the limit: %v", err)
	}
}

// TestChildrenOutliveTheirParentOnASharedInstance: the last of all gives the instance back, once.
func TestChildrenOutliveTheirParentOnASharedInstance(t *testing.T) {
	m := loadGo(t, Options{Config: map[string]string{"shared": "yes"}})
	parent, _, err := m.Start(t.Context(), daemon("children"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	child, _, err := parent.Start(t.Context(), invoke("child"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	before := m.Usage()
	parent.Release(t.Context())
	if got := m.Usage(); got.Daemons != 1 || got.Idle != before.Idle {
		t.Errorf("the instance was given back under its child: %+v", got)
	}
	inTime(t, "releasing the child", func() { child.Release(t.Context()) })
	if got := m.Usage(); got.Daemons != 0 || got.Living > before.Living {
		t.Errorf("the instance was not given back: %+v", got)
	}
}

// TestPlacesAreFreedWhenAWaitEnds: a daemon that gives up waiting for a shared instance gives its place back,
// and the instance with it if all others have gone.
func TestPlacesAreFreedWhenAWaitEnds(t *testing.T) {
	for _, isLast := range []bool{false, true} {
		m := loadGo(t, Options{Config: map[string]string{"shared": "yes"}})
		task := startDaemons(t, m, 1)[0]
		joined := m.pool.share(m.options.SharedTasks)
		if joined != task.in {
			t.Fatal("no room")
		}
		if isLast {
			task.Release(t.Context())
		}
		if got := m.Usage().Daemons; got != 1 {
			t.Errorf("last %v: %d instances of daemons while one has or wants a place", isLast, got)
		}
		m.pool.resign(joined)
		task.Release(t.Context())
		if got := m.Usage().Daemons; got != 0 || len(m.pool.shared) != 0 {
			t.Errorf("last %v: %d instances are still in use", isLast, got)
		}
	}
}
