package daemons

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// A timer that has failed for good is not restarted, but its object keeps the finalizer. A
// daemon or a timer that has ended otherwise needs none.
func TestFinalizersOfWhatHasEnded(t *testing.T) {
	const failure = `{"step":"done","error":{"kind":"permanent","message":"never"}}`
	for _, tt := range []struct {
		name, declaration, script string
		guarded                   bool
	}{
		{"a timer that fails", `"kind":"timer","interval":1`, failure, true},
		{"a timer that is called once", `"kind":"timer"`, `{"step":"done"}`, false},
		{"a daemon that fails", `"kind":"daemon"`, failure, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{tt.script}}, string(reactortest.NewObject(1)))
				b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},`+tt.declaration+`}`)
				b.engine.Handlers = []*registries.Handler{b.handler}
				b.start(t.Context())
				<-b.done
				if living := b.engine.living(t.Context(), &Attendance{Cause: s.cause, Memory: b.memory}, false); len(living) > 0 {
					t.Error("it would be started again")
				}
				if required, err := b.engine.Guards(t.Context(), &Attendance{Cause: s.cause, Memory: b.memory}); err != nil || required != tt.guarded {
					t.Errorf("the finalizer is required: %t, %v", required, err)
				}
			})
		})
	}
}

// TestPanicsEndOneDaemon: a panic ends the daemon in which it happened, and what its attempt has entered is left.
func TestPanicsEndOneDaemon(t *testing.T) {
	s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{`{"step":"wait","seconds":1}`}}, string(reactortest.NewObject(1)))
	b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"daemon"}`)
	r, err := b.guarded(t.Context(), b.attempt)
	if err != nil || r == nil || b.talk == nil {
		t.Fatalf("the attempt does not wait: %v, %v", r, err)
	}
	left, leave := 0, b.leave
	b.leave = func() { left++; leave() }
	b.live(t.Context(), func(context.Context) (*sleep, error) { panic("broken") })
	select {
	case <-b.done:
	default:
		t.Error("the daemon has not ended")
	}
	if left != 1 {
		t.Errorf("the attempt is left %d times", left)
	}
}

// The worker of an object that is deleted learns that a stopped daemon has ended, also if the event of the daemon's last
// patch came before the end. Nothing else waits for the end: a woken worker would only touch the object, even in a pause.
func TestStoppedDaemonWakesTheWorker(t *testing.T) {
	for _, tt := range []struct {
		name    string
		stopped int
		patched bool
		want    time.Duration // until the worker is woken; negative: never
	}{
		{"deleted", abi.StopResourceDeleted, false, 0},
		{"deleted, with a last patch", abi.StopResourceDeleted, true, patchNotice},
		{"filters", abi.StopFiltersMismatch, false, -1},
		{"filters, with a last patch", abi.StopFiltersMismatch, true, -1},
		{"a pause", abi.StopOperatorPausing, false, -1},
		{"by itself", 0, false, -1},
		{"by itself, with a last patch", 0, true, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{}, string(reactortest.NewObject(1)))
				b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"daemon"}`)
				ended, woken := time.Now(), time.Duration(-1)
				b.nudge, b.patched = func() { woken = time.Since(ended) }, tt.patched
				if tt.stopped != 0 {
					b.stopper.Set(tt.stopped)
				}
				b.end()
				time.Sleep(time.Hour)
				synctest.Wait()
				if woken != tt.want {
					t.Errorf("the worker is woken after %v, want %v", woken, tt.want)
				}
			})
		})
	}
}

// A worker that waits for a stopped daemon never learns of its end before the daemon has ended. Otherwise it would call
// the deletion handlers again.
func TestEndIsKnownAtOnce(t *testing.T) {
	for range 1000 {
		s := newScene(t, &reactortest.Scripted{}, string(reactortest.NewObject(1)))
		b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"daemon"}`)
		b.stopper.Set(abi.StopResourceDeleted)
		rest := b.stopper.Resting()
		go b.end()
		if <-rest; !b.isDone() {
			t.Fatal("the daemon has not ended")
		}
		<-b.done
	}
}

// A daemon that is over does not start again if the event of its last patch stops it before it has ended. One that has to
// go on does.
func TestOverBeforeTheLastPatch(t *testing.T) {
	for _, tt := range []struct {
		name, declaration, script string
		over                      bool
	}{
		{"a daemon", `"kind":"daemon"`, `{"step":"done"}`, true},
		{"a daemon that fails", `"kind":"daemon"`, `{"step":"done","error":{"kind":"permanent","message":"never"}}`, true},
		{"a daemon that is retried", `"kind":"daemon"`, `{"step":"done","error":{"kind":"temporary","message":"later","delay":5}}`, false},
		{"a timer that is called once", `"kind":"timer"`, `{"step":"done"}`, true},
		{"a timer that fails", `"kind":"timer","interval":1`, `{"step":"done","error":{"kind":"permanent","message":"never"}}`, true},
		{"a timer", `"kind":"timer","interval":1`, `{"step":"done"}`, false},
		{"an idle timer", `"kind":"timer","idle":0`, `{"step":"done"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{tt.script}}, string(reactortest.NewObject(1)))
				b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},`+tt.declaration+`}`)
				b.engine.Handlers = []*registries.Handler{b.handler}
				b.start(t.Context())
				synctest.Wait()
				b.stopper.Set(abi.StopFiltersMismatch)
				<-b.done
				b.memory.stopped = nil
				b.memory.ended(b.daemon, false) // as if the event of its patch had come before its end
				if over, _ := b.memory.IsOver("fn"); over != tt.over {
					t.Errorf("over: %t", over)
				}
			})
		})
	}
}

// A daemon that ends by itself while its filters are matched is not started again. A
// daemon that was stopped is.
func TestEndWhileFiltersAreMatched(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		var m Memory
		newDaemon := func() *daemon {
			return &daemon{handler: &registries.Handler{ID: "fn"}, stopper: stoppers.New(), done: make(chan struct{})}
		}
		first := newDaemon()
		if !m.add(first) {
			t.Fatal("it runs already")
		}
		if stopped {
			first.stopper.Set(abi.StopFiltersMismatch)
		}
		m.ended(first, false)
		if restarted := m.add(newDaemon()); restarted != stopped {
			t.Errorf("stopped: %t, started again: %t", stopped, restarted)
		}
	}
}

// What filters or a pause have stopped waits for its initial delay again when it starts. What a new version of the module has
// stopped does not.
func TestInitialDelayOfTheNextStart(t *testing.T) {
	for _, tt := range []struct {
		name     string
		replaced bool
		want     []float64
	}{
		{"after filters", false, []float64{5, 25}},
		{"after a replacement", true, []float64{5, 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now()}, string(reactortest.NewObject(1)))
				for range 2 {
					b := s.newLife(t, `{"kind":"timer","id":"fn","resource":{"args":["x"]},"interval":60,"initial_delay":5}`)
					b.engine.Generation = &generations.Generation{}
					b.engine.Generation.Hold()
					b.start(t.Context())
					time.Sleep(20 * time.Second)
					b.engine.Generation.Replaced.Store(tt.replaced)
					b.signal(abi.StopFiltersMismatch)
					<-b.done
				}
				if got := s.times(t); !slices.Equal(got, tt.want) {
					t.Errorf("called at %v, want %v", got, tt.want)
				}
			})
		})
	}
}
