package reactor

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

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/rs/zerolog"
)

// Daemons that begin at the very moment of the exit are either stopped or do not begin.
func TestSpawningAtTheExit(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			r := newRunnables()
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
			r.end()
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
				s := newScene(t, &scripted{scripts: map[string][]string{"a": {`{"step":"wait","seconds":10}`}}}, `{"metadata":{"name":"obj1"}}`)
				r := newRunnables()
				s.x.lifecycle, s.x.entrance = progression.AllAtOnce, r
				handlers := []*Handler{s.handler(t, `{"id":"a"}`), s.handler(t, `{"id":"b"}`)}
				if tt.before {
					r.close()
				} else {
					time.AfterFunc(time.Second, r.close)
				}
				state := progression.State{}.WithHandlers([]string{"a", "b"}, time.Now())
				outcomes, err := s.x.run(t.Context(), handlers, newCause(s.cause.object, &change{reason: causes.Create}), state)
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
				s := newScene(t, guest, `{"metadata":{"name":"obj1"}}`)
				b := s.beside(t, tt.declaration)
				ctx, cancel := context.WithCancel(t.Context())
				b.kill = func() { cancel(); b.stopper.force() }
				b.start(ctx)
				time.Sleep(time.Second)
				began := time.Now()
				b.engine.runnables.end()
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

// Daemons that run, and those that sneak in, are told that the operator pauses,
// each of them once.
func TestDaemonsStopInPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pauses, memories, runnables := newPauses(), newMemories(), newRunnables()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = runnables.stopInPauses(ctx, pauses)
		}()
		add := func(key string) *daemon {
			d := &daemon{
				handler: &Handler{ID: "fn", Spec: abi.Handler{Kind: abi.KindDaemon}}, stopper: newStopper(),
				done: make(chan struct{}), kill: func() {}, instant: exitGrace{limit: 100 * time.Millisecond}, log: &logger{Logger: new(zerolog.Nop())},
			}
			memories.recall(key, false).background.add(d)
			runnables.add(d)
			go func() {
				d.stopper.sleep(time.Hour)
				memories.recall(key, false).background.ended(d, false)
				runnables.remove(d)
				close(d.done)
			}()
			return d
		}
		running := add("a")
		time.Sleep(time.Minute)
		if running.stopper.isSet() {
			t.Error("a daemon is stopped without a pause")
		}
		pauses.set(pauseReason{}, true)
		synctest.Wait()
		if bits := running.stopper.bits(); bits != abi.StopOperatorPausing {
			t.Errorf("reasons of the running daemon: %b", bits)
		}
		late := add("b")
		time.Sleep(2 * pauseRecheck)
		if bits := late.stopper.bits(); bits != abi.StopOperatorPausing {
			t.Errorf("reasons of the late daemon: %b", bits)
		}
		if over, _ := memories.recall("a", false).background.isOver("fn"); over {
			t.Error("the daemon would never be started again")
		}
		pauses.set(pauseReason{}, false)
		after := add("c")
		time.Sleep(2 * pauseRecheck)
		if after.stopper.isSet() {
			t.Error("a daemon is stopped after the pause")
		}
		after.stopper.set(abi.StopOperatorExiting)
		cancel()
		<-done
		runnables.tasks.Wait()
	})
}

// Not more handlers run at once than there are places, but for daemons.
func TestWorkersOfHandlersBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := newRunnables()
		places.limit(settingsWith(t, map[string]string{"execution.max_workers": "2"}).Execution.MaxWorkers)
		began, ends := time.Now(), make([]time.Duration, 4)
		var running sync.WaitGroup
		for i := range ends {
			running.Go(func() {
				leave, err := places.enter(t.Context(), &Handler{Spec: abi.Handler{Kind: abi.KindCreate}}, nil)
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
			if _, err := places.enter(t.Context(), &Handler{Spec: abi.Handler{Kind: abi.KindDaemon}}, nil); err != nil {
				t.Error(err)
			}
		}
		if places.limit(0); cap(places.places) != 2 {
			t.Error("a limit of 0 limits")
		}
	})
}
