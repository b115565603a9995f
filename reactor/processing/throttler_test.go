package processing

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// throttled runs work as the worker of an object does.
func throttled(ctx context.Context, th *throttler, q *queueing.Queue, delays backoffs.Backoffs, work func() error) {
	p := &Processor{Memories: NewMemories()}
	c := &cycle{Object: &handling.Object{Log: loggers.Logger{Logger: new(zerolog.Nop())}}, p: p, queue: q, memory: &memory{}}
	c.memory.trouble.Store(&trouble{throttler: *th})
	defer func() { *th = c.memory.troubled().throttler }()
	for !c.memory.throttledUntil().IsZero() {
		if !c.throttled(ctx) {
			return
		}
	}
	if c.memory.judge(ctx, work(), c.Log, delays) {
		c.throttled(ctx)
	}
}

func TestThrottlerWaitsLongerAfterEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var calls []time.Duration
		failing := true
		work := func() error {
			calls = append(calls, time.Since(begin))
			if failing {
				return errors.New("boo")
			}
			return nil
		}
		q := queueing.Alone()
		throttler := &throttler{}
		delays := backoffs.Seconds(1, 3)
		run := func() {
			throttled(t.Context(), throttler, q, delays, work)
		}
		for range 3 {
			run()
		}
		failing = false
		run()
		failing = true
		run()
		want := []time.Duration{0, time.Second, 4 * time.Second, 7 * time.Second, 7 * time.Second}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if left := time.Until(throttler.until); left > 0 {
			t.Errorf("the first delay after a success lasts %v longer", left)
		}
	})
}

func TestThrottlerIgnoresEventsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueing.Alone(queueing.Item{Event: watching.Event{Type: watching.Modified}}) // always a new event
		throttler := &throttler{}
		calls := 0
		for range 5 {
			throttled(t.Context(), throttler, q, backoffs.Seconds(3600), func() error {
				calls++
				return errors.New("boo")
			})
		}
		if calls != 1 {
			t.Errorf("%d calls while throttled, want 1", calls)
		}
	})
}

func TestThrottlingBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := reactortest.SettingsWith(t, map[string]string{"queueing.error_delays": `{"list": [2, 5], "jitter": 1}`})
		q := queueing.Alone()
		began := time.Now()
		throttled(t.Context(), &throttler{}, q, s.Queueing.ErrorDelays, func() error { return errors.New("boo") })
		if pause := time.Since(began); pause < 2*time.Second || pause >= 3*time.Second {
			t.Errorf("throttled for %v, want 2 s to 3 s", pause)
		}
	})
}

// TestThrottlingOfTwoVersions: an object has a worker for each version of its resource that is served. One of them forgets the failures of
// both, while the other one still waits. The process ended then.
func TestThrottlingOfTwoVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object, begun := &memory{}, time.Now()
		var workers sync.WaitGroup // Waited for below.
		for _, begin := range []time.Duration{0, time.Second / 2} {
			workers.Go(func() {
				time.Sleep(begin)
				c := &cycle{Object: &handling.Object{Log: loggers.Logger{Logger: new(zerolog.Nop())}}, p: &Processor{Memories: NewMemories()}, queue: queueing.Alone(), memory: object}
				for _, err := range []error{errors.New("boo"), nil} {
					if object.judge(t.Context(), err, c.Log, backoffs.Seconds(1)) {
						c.throttled(t.Context())
					}
				}
			})
		}
		workers.Wait()
		if took := time.Since(begun); took != 1500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}
