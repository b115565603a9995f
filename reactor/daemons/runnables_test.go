package daemons

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Daemons that begin during the exit are either stopped or do not begin.
func TestSpawningAtTheExit(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			r := NewRunnables()
			var spawning sync.WaitGroup
			var entered, stopped atomic.Int64
			for n := range 20 {
				spawning.Go(func() {
					stopper := stoppers.New()
					d := &daemon{
						handler: &registries.Handler{ID: fmt.Sprint(n), Spec: abi.Handler{Kind: abi.KindDaemon}}, stopper: stopper, done: make(chan struct{}),
						kill: stopper.Force, instant: exitGrace{time.Second, false}, log: &loggers.Logger{Logger: new(zerolog.Nop())},
					}
					if !r.add(d) {
						return
					}
					entered.Add(1)
					go func() {
						stopper.Sleep(time.Hour)
						if stopper.Bits()&abi.StopOperatorExiting != 0 {
							stopped.Add(1)
						}
						close(d.done)
						r.remove(d)
					}()
				})
			}
			r.End()
			spawning.Wait()
			synctest.Wait()
			if entered.Load() != stopped.Load() || r.Count() > 0 {
				t.Errorf("%d have begun, %d were stopped, %d are left", entered.Load(), stopped.Load(), r.Count())
			}
		})
	}
}

// Handlers that wait for a place are refused at the exit, as are later ones.
func TestHandlersEnterUntilTheExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := NewRunnables(), &registries.Handler{Spec: abi.Handler{Kind: abi.KindCreate}}
		r.Limit(1)
		leave, err := r.Enter(t.Context(), h, nil)
		if err != nil {
			t.Fatal(err)
		}
		began, refusal := time.Now(), make(chan error, 1)
		go func() {
			_, err := r.Enter(t.Context(), h, nil)
			refusal <- err
		}()
		time.Sleep(time.Second)
		r.Close()
		if err := <-refusal; !errors.Is(err, handling.ErrExiting) || time.Since(began) != time.Second {
			t.Errorf("a handler that waited for a place: %v after %v", err, time.Since(began))
		}
		leave()
		for _, kind := range []abi.Kind{abi.KindCreate, abi.KindDaemon, abi.KindTimer, abi.KindBackground} {
			if _, err := r.Enter(t.Context(), &registries.Handler{Spec: abi.Handler{Kind: kind}}, nil); !errors.Is(err, handling.ErrExiting) {
				t.Errorf("a handler of the kind %s after the exit has begun: %v", kind, err)
			}
		}
	})
}

// Handlers of a change that come after the stop signal do not begin. Outcomes of those
// that have run are stored; without any, nothing is stored.
func TestHandlersOfOneChangeAtTheExit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before bool // the signal comes before the first handler, not during it
		want   []string
	}{{"before all", true, nil}, {"during the first", false, []string{"a"}}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Scripts: map[string][]string{"a": {`{"step":"wait","seconds":10}`}}}, `{"metadata":{"name":"obj1"}}`)
				r := NewRunnables()
				s.x.Lifecycle, s.x.Entrance = progression.AllAtOnce, r
				handlers := []*registries.Handler{s.handler(t, `{"id":"a"}`), s.handler(t, `{"id":"b"}`)}
				if tt.before {
					r.Close()
				} else {
					time.AfterFunc(time.Second, r.Close)
				}
				state := progression.State{}.WithHandlers([]string{"a", "b"}, time.Now())
				outcomes, err := s.x.Run(t.Context(), handlers, handling.NewCause(s.cause.Object, &handling.Change{Reason: causes.Create}), state)
				if errors.Is(err, handling.ErrExiting) != tt.before {
					t.Errorf("the error is %v", err)
				}
				if got := slices.Sorted(maps.Keys(outcomes)); !slices.Equal(got, tt.want) {
					t.Errorf("the outcomes are of %v, want %v", got, tt.want)
				}
				if len(s.guest.Invocations) != len(tt.want) {
					t.Errorf("%d handlers were called", len(s.guest.Invocations))
				}
			})
		})
	}
}

// The exit lets a timer in its handler, and a daemon without a cancellation timeout,
// finish within a limit.
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
				guest := &reactortest.Scripted{Begin: time.Now(), Attempts: []string{fmt.Sprintf(`{"step":"wait","seconds":%d}`, tt.seconds)}}
				s := newScene(t, guest, `{"metadata":{"name":"obj1"}}`)
				b := s.newLife(t, tt.declaration)
				ctx, cancel := context.WithCancel(t.Context())
				b.kill = func() { cancel(); b.stopper.Force() }
				b.start(ctx)
				time.Sleep(time.Second)
				began := time.Now()
				b.engine.Runnables.End()
				<-b.done
				if took := time.Since(began); took != tt.took {
					t.Errorf("the exit took %v, want %v", took, tt.took)
				}
				if finished := guest.Cancelled == 0; finished != tt.finished {
					t.Errorf("finished: %t\n%s", finished, &s.log)
				}
				if len(guest.Times) != 1 {
					t.Errorf("it was called %d times", len(guest.Times))
				}
			})
		})
	}
}

// TestExitsAreForced: a module chooses how long the end of its daemons may take.
func TestExitsAreForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Begin: time.Now(), Attempts: []string{`{"step":"wait","seconds":1e9}`}}
		s := newScene(t, guest, `{"metadata":{"name":"obj1"}}`)
		b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]},"cancellation_backoff":1e9}`)
		ctx, cancel := context.WithCancel(t.Context())
		b.kill = func() { cancel(); b.stopper.Force() }
		b.start(ctx)
		time.Sleep(time.Second)
		began := time.Now()
		time.AfterFunc(time.Hour, b.engine.Runnables.Kill)
		b.engine.Runnables.End()
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the exit took %v", took)
		}
	})
}

// A pause stops running daemons, once each.
func TestDaemonsStopInPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runnables := pauses.New(), NewRunnables()
		memories := map[string]*Memory{"a": {}, "b": {}}
		defer p.OnPause(runnables.Pause)()
		add := func(key string) *daemon {
			d := &daemon{
				handler: &registries.Handler{ID: "fn", Spec: abi.Handler{Kind: abi.KindDaemon}}, stopper: stoppers.New(),
				done: make(chan struct{}), kill: func() {}, instant: exitGrace{limit: 100 * time.Millisecond}, log: &loggers.Logger{Logger: new(zerolog.Nop())},
			}
			memories[key].add(d)
			runnables.add(d)
			go func() {
				d.stopper.Sleep(time.Hour)
				memories[key].ended(d, false)
				runnables.remove(d)
				close(d.done)
			}()
			return d
		}
		running := add("a")
		time.Sleep(time.Minute)
		if running.stopper.IsSet() {
			t.Error("a daemon is stopped without a pause")
		}
		p.Set(pauses.Reason{}, true)
		synctest.Wait()
		if bits := running.stopper.Bits(); bits != abi.StopOperatorPausing {
			t.Errorf("reasons of the running daemon: %b", bits)
		}
		if over, _ := memories["a"].IsOver("fn"); over {
			t.Error("the daemon would never be started again")
		}
		p.Set(pauses.Reason{}, false)
		after := add("b")
		time.Sleep(time.Minute)
		if after.stopper.IsSet() {
			t.Error("a daemon is stopped after the pause")
		}
		after.stopper.Set(abi.StopOperatorExiting)
		runnables.tasks.Wait()
	})
}

// A daemon that is just being started when a pause begins is stopped, too: it never calls its handler.
func TestDaemonsThatStartInPausesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{}
		s := newScene(t, guest, `{"metadata": {"name": "x"}}`)
		h := s.handler(t, `{"id": "fn", "kind": "daemon"}`)
		p, runnables := pauses.New(), NewRunnables()
		defer p.OnPause(runnables.Pause)()
		e := &Engine{Writer: &patching.Writer{}, Settings: s.x.Settings, Execution: s.x, Runnables: runnables, Pauses: p, Decode: dicts.DecodeObject}
		p.Set(pauses.Reason{}, true)
		starts := &Starts{}
		if err := e.Spawn(t.Context(), &Attendance{Cause: s.cause, Memory: &s.memory, Starts: starts, Nudge: func() {}}, h); err != nil {
			t.Fatal(err)
		}
		daemons := s.memory.all()
		if len(daemons) != 1 {
			t.Fatalf("%d daemons", len(daemons))
		}
		synctest.Wait()
		if bits := daemons[0].stopper.Bits(); bits != abi.StopOperatorPausing {
			t.Errorf("reasons of the daemon: %b", bits)
		}
		starts.Free()
		runnables.tasks.Wait()
		if len(guest.Times) > 0 {
			t.Error("its handler was called")
		}
		if over, _ := s.memory.IsOver("fn"); over {
			t.Error("the daemon would never be started again")
		}
	})
}

// Concurrent handlers, except daemons, are limited by the number of places.
func TestWorkersOfHandlersBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewRunnables()
		places.Limit(reactortest.SettingsWith(t, map[string]string{"execution.max_workers": "2"}).Execution.MaxWorkers)
		began, ends := time.Now(), make([]time.Duration, 4)
		var running sync.WaitGroup
		for i := range ends {
			running.Go(func() {
				leave, err := places.Enter(t.Context(), &registries.Handler{Spec: abi.Handler{Kind: abi.KindCreate}}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				leave()
				ends[i] = time.Since(began)
			})
		}
		running.Wait()
		slices.Sort(ends)
		if want := []time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second}; !slices.Equal(ends, want) {
			t.Errorf("four handlers of a second on two places end after %v, want %v", ends, want)
		}
		for range 5 {
			if _, err := places.Enter(t.Context(), &registries.Handler{Spec: abi.Handler{Kind: abi.KindDaemon}}, nil); err != nil {
				t.Error(err)
			}
		}
		if places.Limit(0); cap(places.places) != 2 {
			t.Error("a limit of 0 limits")
		}
	})
}
