package daemons

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// newLife makes a daemon or a timer of one object without starting it.
func (s *scene) newLife(t *testing.T, declaration string) *life {
	t.Helper()
	h := s.handler(t, declaration)
	stopper := stoppers.New()
	own, memory := s.cause.Alone(), &s.memory
	d := &daemon{handler: h, stopper: stopper, done: make(chan struct{}), kill: stopper.Force, log: &own.Log}
	d.instant = instantExit(settings.Default().Background)
	if !memory.add(d) {
		t.Fatal("it runs already")
	}
	if err := memory.Follow(nil, s.cause.Raw); err != nil {
		t.Fatal(err)
	}
	e := &Engine{Writer: &patching.Writer{}, Settings: s.x.Settings, Execution: s.x, Runnables: NewRunnables(), Decode: dicts.DecodeObject}
	e.Runnables.add(d)
	return &life{daemon: d, engine: e, memory: memory, nudge: func() {}, cause: handling.NewCause(own, &handling.Daemon{Stopper: stopper, Live: memory.newest})}
}

// start begins the life of a daemon or a timer.
func (b *life) start(ctx context.Context) { go b.live(ctx, b.begin) }

// times returns when a handler was called, in seconds from the start of the test.
func (s *scene) times(t *testing.T) []float64 {
	t.Helper()
	var list []float64
	for _, at := range s.guest.Times {
		list = append(list, at.Sub(s.guest.Begin).Seconds())
	}
	return list
}

// TestTimers checks when handlers are called, in virtual time.
func TestTimers(t *testing.T) {
	const (
		fails     = `{"step":"done","error":{"kind":"temporary","message":"later","delay":3}}`
		permanent = `{"step":"done","error":{"kind":"permanent","message":"never"}}`
		arbitrary = `{"step":"done","error":{"kind":"arbitrary","message":"x"}}`
	)
	tests := []struct {
		name, options string
		scripts       []string // of the attempts; default: done
		change        float64  // time of an essential change of the object
		want          []float64
	}{
		{"interval", `"interval":10`, nil, 0, []float64{0, 10, 20, 30}},
		{"interval after the end of a call", `"interval":10`, []string{`{"step":"wait","seconds":4}`}, 0, []float64{0, 14, 24, 34}},
		{"sharp", `"interval":10,"sharp":true`, []string{`{"step":"wait","seconds":4}`}, 0, []float64{0, 10, 20, 30}},
		{"sharp, longer than the interval", `"interval":10,"sharp":true`, []string{`{"step":"wait","seconds":14}`}, 0, []float64{0, 20, 30}},
		{"initial delay", `"interval":10,"initial_delay":5`, nil, 0, []float64{5, 15, 25, 35}},
		{"the timeout begins after the initial delay", `"interval":10,"initial_delay":5,"timeout":3`, nil, 0, []float64{5, 15, 25, 35}},
		{"idle", `"interval":10,"idle":7`, nil, 0, []float64{7, 17, 27, 37}},
		{"idle, with a change", `"interval":10,"idle":7`, nil, 3, []float64{10, 20, 30}},
		{"idle, with a change between two calls", `"interval":10,"idle":7`, nil, 12, []float64{7, 19, 29, 39}},
		{"idle alone is once after each change", `"idle":7`, nil, 12, []float64{7, 19}},
		{"neither interval nor idle is once", ``, nil, 0, []float64{0}},
		{"temporary errors override the interval", `"interval":10`, []string{fails}, 0, []float64{0, 3, 13, 23, 33}},
		{"retries are over", `"interval":10,"retries":2`, []string{fails, fails}, 0, []float64{0, 3}},
		{"the time is over", `"interval":10,"timeout":5`, []string{fails, fails}, 0, []float64{0, 3}},
		{"a permanent error", `"interval":10`, []string{`{"step":"done"}`, permanent}, 0, []float64{0, 10}},
		{"a permanent error, sharp", `"interval":10,"sharp":true`, []string{permanent}, 0, []float64{0}},
		{"a permanent error, idle alone", `"idle":7`, []string{permanent}, 12, []float64{7}},
		{"an error of the mode PERMANENT", `"interval":10,"errors":"PERMANENT"`, []string{arbitrary}, 0, []float64{0}},
		{"an error of the mode IGNORED", `"interval":10,"errors":"IGNORED"`, []string{arbitrary}, 0, []float64{0, 10, 20, 30}},
		{"arbitrary errors wait for the backoff", `"interval":10,"backoff":2`, []string{`{"step":"done","error":{"kind":"arbitrary","message":"x"}}`}, 0, []float64{0, 2, 12, 22, 32}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: test.scripts}, `{"metadata":{"name":"obj1"}}`)
				options := test.options
				if options != "" {
					options = "," + options
				}
				b := s.newLife(t, `{"kind":"timer","id":"fn","resource":{"args":["x"]}`+options+`}`)
				b.start(t.Context())
				if test.change > 0 {
					time.Sleep(durations.Seconds(test.change))
					b.memory.NoteChange()
				}
				time.Sleep(time.Until(s.guest.Begin.Add(39500 * time.Millisecond)))
				b.signal(abi.StopOperatorExiting)
				<-b.done
				if got := s.times(t); !slices.Equal(got, test.want) {
					t.Errorf("called at %v, want %v\n%s", got, test.want, &s.log)
				}
			})
		})
	}
}

// TestIdleBeginsWithTheObject checks that the idle time of a later timer begins with the
// object.
func TestIdleBeginsWithTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &reactortest.Scripted{Begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
		time.Sleep(5 * time.Second)
		b := s.newLife(t, `{"kind":"timer","id":"fn","resource":{"args":["x"]},"interval":100,"idle":7}`)
		b.start(t.Context())
		time.Sleep(20 * time.Second)
		b.signal(abi.StopOperatorExiting)
		<-b.done
		if got, want := s.times(t), []float64{7}; !slices.Equal(got, want) {
			t.Errorf("called at %v, want %v", got, want)
		}
	})
}

// TestIdleTimersCostNothing: an object can have ten thousand of them, whose idle time the module chooses.
func TestIdleTimersCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &reactortest.Scripted{Begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
		b := s.newLife(t, `{"kind":"timer","id":"fn","resource":{"args":["x"]},"idle":0}`)
		b.start(t.Context())
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		time.Sleep(time.Hour)
		runtime.ReadMemStats(&after)
		if wakes := after.Mallocs - before.Mallocs; wakes > 10_000 {
			t.Errorf("%d allocations in an hour", wakes)
		}
		b.memory.NoteChange()
		time.Sleep(time.Minute)
		b.signal(abi.StopOperatorExiting)
		<-b.done
		if got, want := s.times(t), []float64{0, 3600}; !slices.Equal(got, want) {
			t.Errorf("called at %v, want %v", got, want)
		}
		if len(b.memory.idle) > 0 {
			t.Error("a timer that has ended is kept")
		}
	})
}
