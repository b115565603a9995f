package queueing

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// recorder is a process function that records its calls.
type recorder struct {
	mu    sync.Mutex
	seen  []string
	times []time.Duration
	begin time.Time
	work  func(ctx context.Context, it Item, q *Queue) string
}

func (r *recorder) process(ctx context.Context, it Item, q *Queue) string {
	r.mu.Lock()
	r.seen = append(r.seen, it.Meta.UID+"/"+it.Meta.ResourceVersion)
	r.times = append(r.times, time.Since(r.begin))
	r.mu.Unlock()
	if r.work == nil {
		return ""
	}
	return r.work(ctx, it, q)
}

func first[A, B any](a A, _ B) A { return a }

// snapshot returns the recorded calls and their times.
func (r *recorder) snapshot() ([]string, []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen), slices.Clone(r.times)
}

func testQueues(r *recorder) *Queues {
	r.begin = time.Now()
	qs := New(0)
	qs.Process, qs.Idle, qs.patience = r.process, 5*time.Second, 5*time.Second
	return qs
}

func size(qs *Queues) int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return len(qs.objects)
}

func event(uid string, version int, kind string) Item {
	return Item{Event: watching.Event{Type: kind, Meta: watching.Meta{UID: uid, ResourceVersion: fmt.Sprint(version)}}}
}

func TestQueueHandlesEventsOfAnObjectInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{work: func(context.Context, Item, *Queue) string { time.Sleep(time.Second); return "" }}
		qs := testQueues(r)
		qs.every = true
		ctx, cancel := context.WithCancel(t.Context())
		for version := 1; version <= 3; version++ {
			qs.Put(ctx, event("a", version, watching.Modified))
		}
		qs.Put(ctx, event("b", 7, watching.Added))
		time.Sleep(10 * time.Second)
		want := map[string][]time.Duration{"a": {0, time.Second, 2 * time.Second}, "b": {placePatience}}
		got := map[string][]time.Duration{}
		seen, times := r.snapshot()
		for i, name := range seen {
			got[name[:1]] = append(got[name[:1]], times[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("start times (-want +got):\n%s", diff)
		}
		qs.Drain(cancel, time.Second)
	})
}

func TestQueueMergesChangesThatNoHandlerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{work: func(context.Context, Item, *Queue) string { time.Sleep(time.Second); return "" }}
		qs := testQueues(r)
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, event("a", 1, watching.Added))
		synctest.Wait()
		for version := 2; version <= 10_000; version++ {
			qs.Put(ctx, event("a", version, watching.Modified))
		}
		qs.Put(ctx, event("a", 10_001, watching.Deleted))
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff([]string{"a/1", "a/10000", "a/10001"}, first(r.snapshot())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		qs.Drain(cancel, time.Second)
	})
}

func TestQueueWorkersEndWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		qs := testQueues(&recorder{})
		qs.Put(t.Context(), event("a", 1, watching.Added))
		var ended atomic.Bool
		go func() {
			qs.workers.Wait()
			ended.Store(true)
		}()
		time.Sleep(5*time.Second - time.Millisecond)
		if ended.Load() || size(qs) != 0 {
			t.Errorf("the worker ended before the idle timeout, or the object is still there")
		}
		time.Sleep(time.Second)
		if !ended.Load() {
			t.Errorf("the worker did not end after the idle timeout")
		}
	})
}

// TestSlotsOfQueues checks that the number of handled objects is limited, and that waiting
// ones do not count.
func TestSlotsOfQueues(t *testing.T) {
	waits := map[string]func(ctx context.Context, q *Queue){
		"working":  func(context.Context, *Queue) { time.Sleep(time.Second) },
		"sleeping": func(ctx context.Context, q *Queue) { q.Sleep(ctx, time.Second) },
		"for all objects": func(ctx context.Context, q *Queue) {
			_ = q.Unhurried(ctx, false, func(context.Context) error { time.Sleep(time.Second); return nil })
		},
	}
	const objects = 3 * maxSlots
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				running, most := 0, 0
				r := &recorder{work: func(ctx context.Context, _ Item, q *Queue) string {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					wait(ctx, q)
					mu.Lock()
					running--
					mu.Unlock()
					return ""
				}}
				qs := testQueues(r)
				ctx, cancel := context.WithCancel(t.Context())
				for i := range objects {
					qs.Put(ctx, event(fmt.Sprint("uid", i), 1, watching.Added))
				}
				time.Sleep(time.Minute)
				qs.Drain(cancel, time.Second)
				want := objects
				if name == "working" {
					want = maxSlots
				}
				if seen := first(r.snapshot()); most != want || len(seen) != objects || qs.slots != 0 {
					t.Errorf("%d objects at once, %d in all, %d slots are left; want %d, %d, 0", most, len(seen), qs.slots, want, objects)
				}
			})
		})
	}
}

// TestListingsWaitForRoom checks that a listing is not read much faster than its objects
// are handled.
func TestListingsWaitForRoom(t *testing.T) {
	const objects, page = 4 * maxReady, 100
	for limit, most := range map[int]int{0: maxReady + page, 1: objects - 1} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{work: func(context.Context, Item, *Queue) string { time.Sleep(time.Second); return "" }}
			qs := testQueues(r)
			qs.limit = limit
			ctx, cancel := context.WithCancel(t.Context())
			reading, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			longest := 0
			for i := range objects {
				if i > 0 && i%page == 0 {
					qs.Hold(reading)
				}
				qs.Put(ctx, event(fmt.Sprint("uid", i), 1, watching.Listed))
				qs.mu.Lock()
				longest = max(longest, len(qs.ready))
				qs.mu.Unlock()
			}
			if longest > most || reading.Err() != nil {
				t.Errorf("limit %d: %d objects are ready at once, want %d at most; %v", limit, longest, most, reading.Err())
			}
			qs.Drain(cancel, 2*time.Hour)
			if seen := first(r.snapshot()); len(seen) != objects {
				t.Errorf("limit %d: %d objects are handled, want %d", limit, len(seen), objects)
			}
		})
	}
}

func TestNudgeEndsTheSleepOfAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept time.Duration
		r := &recorder{work: func(ctx context.Context, _ Item, q *Queue) string {
			begin := time.Now()
			q.Sleep(ctx, time.Minute)
			slept = time.Since(begin)
			return ""
		}}
		qs := testQueues(r)
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, event("a", 1, watching.Added))
		time.Sleep(3 * time.Second)
		qs.nudge("b")
		qs.nudge("a")
		synctest.Wait()
		qs.Drain(cancel, time.Second)
		if slept != 3*time.Second {
			t.Errorf("slept for %v, want 3s", slept)
		}
	})
}

func TestQueueExpectsTheVersionOfThePatch(t *testing.T) {
	tests := []struct {
		name    string
		version int // that arrives after the patch of version 5
		waits   bool
	}{
		{"older", 4, true},
		{"the same", 5, false},
		{"newer", 6, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waits []bool
				r := &recorder{}
				r.work = func(_ context.Context, it Item, _ *Queue) string {
					r.mu.Lock()
					waits = append(waits, !it.ConsistentAt.IsZero())
					r.mu.Unlock()
					if it.Meta.ResourceVersion == "1" {
						return "5"
					}
					return ""
				}
				qs := testQueues(r)
				ctx, cancel := context.WithCancel(t.Context())
				qs.Put(ctx, event("a", 1, watching.Added))
				synctest.Wait()
				qs.Put(ctx, event("a", tt.version, watching.Modified))
				synctest.Wait()
				r.mu.Lock()
				if diff := cmp.Diff([]bool{false, tt.waits}, waits); diff != "" {
					t.Errorf("waiting for consistency (-want +got):\n%s", diff)
				}
				r.mu.Unlock()
				qs.Drain(cancel, time.Second)
			})
		})
	}
}

func TestQueueSleepEndsWithNewEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []time.Duration
		r := &recorder{}
		r.work = func(ctx context.Context, _ Item, q *Queue) string {
			slept := q.Sleep(ctx, 10*time.Second)
			r.mu.Lock()
			defer r.mu.Unlock()
			left = append(left, slept)
			return ""
		}
		qs := testQueues(r)
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, event("a", 1, watching.Added))
		time.Sleep(4 * time.Second)
		qs.Put(ctx, event("a", 2, watching.Modified))
		time.Sleep(11 * time.Second)
		r.mu.Lock()
		defer r.mu.Unlock()
		if diff := cmp.Diff([]time.Duration{6 * time.Second, 0}, left); diff != "" {
			t.Errorf("time left (-want +got):\n%s", diff)
		}
		cancel()
	})
}

func TestDrainWaitsForWorkThenCancels(t *testing.T) {
	tests := []struct {
		name      string
		work      time.Duration
		cancelled bool
	}{
		{"short work is finished", time.Second, false},
		{"long work is cancelled", time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cancelled := false
				r := &recorder{work: func(ctx context.Context, _ Item, _ *Queue) string {
					select {
					case <-time.After(tt.work):
					case <-ctx.Done():
						cancelled = true
					}
					return ""
				}}
				qs := testQueues(r)
				ctx, cancel := context.WithCancel(t.Context())
				qs.Put(ctx, event("a", 1, watching.Added))
				synctest.Wait()
				if left := qs.Drain(cancel, 2*time.Second); (left > 0) != tt.cancelled {
					t.Errorf("%d objects are left", left)
				}
				if cancelled != tt.cancelled {
					t.Errorf("cancelled: %v, want %v", cancelled, tt.cancelled)
				}
			})
		})
	}
}

func TestLoadOfQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		r.work = func(context.Context, Item, *Queue) string {
			time.Sleep(time.Second)
			return ""
		}
		qs := New(2)
		qs.Process, qs.Idle = r.process, time.Second
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			qs.Put(ctx, event(fmt.Sprint("uid", i), 1, watching.Added))
		}
		synctest.Wait()
		if waiting, busy := qs.Load(); waiting != 8 || busy != 2 {
			t.Errorf("%d events wait and %d objects have workers, want 8 and 2", waiting, busy)
		}
		time.Sleep(time.Minute)
		if waiting, busy := qs.Load(); waiting != 0 || busy != 0 {
			t.Errorf("at the end %d events wait and %d objects have workers", waiting, busy)
		}
		qs.Drain(cancel, time.Second)
	})
}

// TestWaitsOfEvents: an event waits from its arrival to its worker. A change that replaces another
// one has waited since the first.
func TestWaitsOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		r.work = func(context.Context, Item, *Queue) string {
			time.Sleep(10 * time.Second)
			return ""
		}
		qs := New(1)
		qs.Process, qs.Idle, qs.Waits = r.process, time.Second, &meters.Histogram{}
		if !qs.Oldest().IsZero() {
			t.Error("an event waits")
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		qs.Put(ctx, event("busy", 1, watching.Added))
		synctest.Wait()
		for version := range 3 {
			qs.Put(ctx, event("waiting", version+1, watching.Modified))
			time.Sleep(2 * time.Second)
		}
		if got := qs.Oldest(); !got.Equal(begun) {
			t.Errorf("the oldest event waits since %v", got.Sub(begun))
		}
		time.Sleep(time.Minute)
		if d := qs.Waits.Read(); !qs.Oldest().IsZero() || d.Count() != 2 || d.Seconds() != 10 {
			t.Errorf("%d events have waited for %v seconds, and one waits since %v", d.Count(), d.Seconds(), qs.Oldest())
		}
		qs.Drain(cancel, time.Second)
	})
}

func TestQueueLimitOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		var mu sync.Mutex
		r := &recorder{}
		r.work = func(context.Context, Item, *Queue) string {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return ""
		}
		qs := New(2)
		qs.Process, qs.Idle = r.process, time.Second
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			qs.Put(ctx, event(fmt.Sprint("uid", i), 1, watching.Added))
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if seen := first(r.snapshot()); most != 2 || len(seen) != 10 {
			t.Errorf("%d objects at once, %d in all; want 2 and 10", most, len(seen))
		}
		qs.Drain(cancel, time.Second)
	})
}

func TestWorkersOfObjectsBySettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := reactortest.SettingsWith(t, map[string]string{
			"queueing.worker_limit": "1", "queueing.idle_timeout": "3", "persistence.consistency_timeout": "7",
		})
		qs := Of(s)
		r := &recorder{begin: time.Now(), work: func(context.Context, Item, *Queue) string { time.Sleep(time.Second); return "" }}
		qs.Process = r.process
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, event("a", 1, watching.Added))
		synctest.Wait()
		qs.Put(ctx, event("b", 2, watching.Added))
		qs.workers.Wait()
		if _, times := r.snapshot(); len(times) != 2 || times[1] != time.Second {
			t.Errorf("the objects are handled after %v, want one after the other", times)
		}
		if took := time.Since(r.begin); took != 5*time.Second {
			t.Errorf("the worker ends after %v, want 2 s of work and 3 s of idleness", took)
		}
		if qs.patience != 7*time.Second {
			t.Errorf("waits %v for its own changes, want 7 s", qs.patience)
		}
		qs.Drain(cancel, time.Second)
	})
}

func TestTheStateOfAnObjectSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{work: func(ctx context.Context, it Item, q *Queue) string {
			if it.Meta.ResourceVersion == "1" {
				q.SleepFor(ctx, time.Minute, Retrying)
				time.Sleep(time.Second) // it computes
			}
			return ""
		}}
		qs := testQueues(r)
		ctx, cancel := context.WithCancel(t.Context())
		first := event("a", 1, watching.Added)
		key, begin := first.Meta.Key(), time.Now()
		if got := qs.State(key); got != (State{}) {
			t.Errorf("before the first event: %+v", got)
		}
		qs.Put(ctx, first)
		synctest.Wait()
		if got, want := qs.State(key), (State{Working: true, Why: Retrying, Until: begin.Add(time.Minute)}); got != want {
			t.Errorf("while it sleeps: %+v, want %+v", got, want)
		}
		qs.Put(ctx, event("a", 2, watching.Modified)) // ends the sleep
		synctest.Wait()
		if got, want := qs.State(key), (State{Working: true, Waiting: 1}); got != want {
			t.Errorf("after the sleep: %+v, want %+v", got, want)
		}
		time.Sleep(2 * time.Second)
		if got := qs.State(key); got != (State{}) {
			t.Errorf("at the end: %+v", got)
		}
		qs.Drain(cancel, time.Second)
	})
}
