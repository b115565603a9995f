package reactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// counting is a guest whose handlers all wait in the same way; its calls are counted.
type counting struct {
	handlers []abi.Handler
	step     abi.Step // the first one of each call
	takes    time.Duration
	begun    atomic.Int64
}

func (g *counting) Name() string                    { return "counting" }
func (g *counting) Registration() *abi.Registration { return &abi.Registration{Handlers: g.handlers} }

func (g *counting) Ask(context.Context, *abi.Questions, []byte, Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

func (g *counting) Start(context.Context, *abi.Invocation, []byte, Env) (Task, *abi.Step, error) {
	g.begun.Add(1)
	time.Sleep(g.takes)
	step := g.step
	return countingTask{}, &step, nil
}

// countingTask ends as soon as it is resumed.
type countingTask struct{ Task }

func (countingTask) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	return &abi.Step{Step: abi.StepDone}, nil
}
func (countingTask) Cancel(context.Context) error { return nil }
func (countingTask) Release(context.Context)      {}

// unchanging is a server that agrees to each patch and shows one object.
type unchanging []byte

func (s unchanging) RoundTrip(*http.Request) (*http.Response, error) {
	return answer(http.StatusOK, io.NopCloser(bytes.NewReader(s))), nil
}

// newCounting makes a guest with one daemon.
func newCounting(step abi.Step, takes time.Duration) *counting {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	return &counting{handlers: []abi.Handler{{Kind: abi.KindDaemon, ID: "daemon_fn", Resource: &resource}}, step: step, takes: takes}
}

// The stop signal comes while a long listing is handled: what has begun by then is stopped,
// the rest does not begin, and the exit takes no longer than the end of one daemon.
func TestExitDuringListing(t *testing.T) {
	const objects = 3000
	synctest.Test(t, func(t *testing.T) {
		guest := newCounting(abi.Step{Step: abi.StepWait, Stoppable: true}, 10*time.Millisecond)
		registry, err := NewRegistry(guest)
		if err != nil {
			t.Fatal(err)
		}
		op := configured(t, nil)
		p := newProcessor(registry, unchanging(newObject(1)))
		p.runnables, p.memories = op.runnables, op.memories
		p.engine.runnables, p.engine.settings = op.runnables, op.Settings
		p.engine.execution = p.execution(progression.AllAtOnce, modeTemporary)
		qs := newQueues(2)
		qs.process, qs.idle = p.handleOne, time.Second
		working, cancel := context.WithCancel(t.Context())
		for n := range objects {
			meta := watching.Meta{UID: fmt.Sprint("uid-", n), Name: fmt.Sprint("example-", n), Namespace: "default"}
			qs.put(working, item{Event: watching.Event{Type: watching.Listed, Object: newObject(n), Meta: meta}})
		}
		time.Sleep(time.Second)
		began, begun := time.Now(), guest.begun.Load()
		if begun == 0 || begun > objects/2 {
			t.Fatalf("%d daemons have begun before the stop signal", begun)
		}
		var exit sync.WaitGroup
		exit.Go(op.stopDaemons)
		qs.drain(cancel, op.Settings.Queueing.ExitTimeout)
		exit.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the exit took %v", took)
		}
		if late := guest.begun.Load() - begun; late > 2 { // those that were registered by then, one for each worker
			t.Errorf("%d daemons have begun after the stop signal", late)
		}
		if left := op.runnables.count(); left > 0 {
			t.Errorf("%d daemons run after the exit", left)
		}
	})
}

// Daemons that begin at the very moment of the exit are either stopped or do not begin.
func TestSpawningAtTheExit(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			r := newRunnables()
			op := configured(t, nil)
			op.runnables = r
			var spawning sync.WaitGroup
			var entered, stopped atomic.Int64
			for n := range 20 {
				spawning.Go(func() {
					stopper := newStopper()
					d := &daemon{
						handler: &Handler{ID: fmt.Sprint(n), Spec: abi.Handler{Kind: abi.KindDaemon}}, stopper: stopper, done: make(chan struct{}),
						kill: stopper.force, instant: exitGrace{time.Second, false}, log: &logger{Logger: new(zerolog.Nop())},
					}
					if !r.add(d) {
						return
					}
					entered.Add(1)
					go func() {
						stopper.sleep(time.Hour)
						if stopper.bits()&abi.StopOperatorExiting != 0 {
							stopped.Add(1)
						}
						close(d.done)
						r.remove(d)
					}()
				})
			}
			op.stopDaemons()
			spawning.Wait()
			synctest.Wait()
			if entered.Load() != stopped.Load() || r.count() > 0 {
				t.Errorf("%d have begun, %d were stopped, %d are left", entered.Load(), stopped.Load(), r.count())
			}
		})
	}
}

// Handlers that wait for a place at the exit are refused at once, as are those that come later.
func TestHandlersEnterUntilTheExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := newRunnables(), &Handler{Spec: abi.Handler{Kind: abi.KindCreate}}
		r.limit(1)
		leave, err := r.enter(t.Context(), h, nil)
		if err != nil {
			t.Fatal(err)
		}
		began, refusal := time.Now(), make(chan error, 1)
		go func() {
			_, err := r.enter(t.Context(), h, nil)
			refusal <- err
		}()
		time.Sleep(time.Second)
		r.close()
		if err := <-refusal; !errors.Is(err, errExiting) || time.Since(began) != time.Second {
			t.Errorf("a handler that waited for a place: %v after %v", err, time.Since(began))
		}
		leave()
		for _, kind := range []abi.Kind{abi.KindCreate, abi.KindDaemon, abi.KindTimer, abi.KindBackground} {
			if _, err := r.enter(t.Context(), &Handler{Spec: abi.Handler{Kind: kind}}, nil); !errors.Is(err, errExiting) {
				t.Errorf("a handler of the kind %s after the exit has begun: %v", kind, err)
			}
		}
	})
}

// Of the handlers of one change, those that come after the stop signal do not begin. What
// has run is kept; if nothing has, nothing is.
func TestHandlersOfOneChangeAtTheExit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before bool // the signal comes before the first handler, or else during it
		want   []string
	}{{"before all", true, nil}, {"during the first", false, []string{"a"}}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, &scripted{scripts: map[string][]string{"a": {`{"step":"wait","seconds":10}`}}}, `{"metadata":{"name":"obj1"}}`)
				r := newRunnables()
				s.x.lifecycle, s.x.entrance = progression.AllAtOnce, r
				handlers := []*Handler{s.handler(t, `{"id":"a"}`), s.handler(t, `{"id":"b"}`)}
				if tt.before {
					r.close()
				} else {
					time.AfterFunc(time.Second, r.close)
				}
				state := progression.State{}.WithHandlers([]string{"a", "b"}, time.Now())
				outcomes, err := s.x.run(t.Context(), handlers, s.cause, state)
				if errors.Is(err, errExiting) != tt.before {
					t.Errorf("the error is %v", err)
				}
				if got := slices.Sorted(maps.Keys(outcomes)); !slices.Equal(got, tt.want) {
					t.Errorf("the outcomes are of %v, want %v", got, tt.want)
				}
				if len(s.guest.invocations) != len(tt.want) {
					t.Errorf("%d handlers were called", len(s.guest.invocations))
				}
			})
		})
	}
}

// A timer in its handler, and a daemon without a cancellation timeout, may finish at the
// exit: but not for ever.
func TestExitLetsCallsFinish(t *testing.T) {
	const daemon, timer = `{"kind":"daemon","id":"fn","resource":{"args":["x"]}`, `{"kind":"timer","id":"fn","interval":5,"resource":{"args":["x"]}`
	tests := []struct {
		name, declaration string
		seconds           int
		finished          bool
		took              time.Duration
	}{
		{"a timer that ends soon", timer + `}`, 3, true, 2 * time.Second},
		{"a timer that does not", timer + `}`, 100, false, hungTimeout},
		{"a daemon that ends soon", daemon + `}`, 3, true, 2 * time.Second},
		{"a daemon that does not", daemon + `}`, 100, false, hungTimeout},
		{"a daemon with a cancellation timeout", daemon + `,"cancellation_timeout":1}`, 3, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &scripted{begin: time.Now(), attempts: []string{fmt.Sprintf(`{"step":"wait","seconds":%d}`, tt.seconds)}}
				s := newStage(t, guest, `{"metadata":{"name":"obj1"}}`)
				op := configured(t, nil)
				b := s.beside(t, tt.declaration)
				op.runnables = b.engine.runnables
				ctx, cancel := context.WithCancel(t.Context())
				b.kill = func() { cancel(); b.stopper.force() }
				b.start(ctx)
				time.Sleep(time.Second)
				began := time.Now()
				op.stopDaemons()
				<-b.done
				if took := time.Since(began); took != tt.took {
					t.Errorf("the exit took %v, want %v", took, tt.took)
				}
				if finished := guest.cancelled == 0; finished != tt.finished {
					t.Errorf("finished: %t\n%s", finished, &s.log)
				}
				if len(guest.times) != 1 {
					t.Errorf("it was called %d times", len(guest.times))
				}
			})
		})
	}
}
