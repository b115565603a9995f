package queueing

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// postponer postpones each object for an hour when its first event is handled, and writes down what happens.
type postponer struct {
	mu    sync.Mutex // guards lines
	begun time.Time
	lines []string
}

func (p *postponer) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, time.Since(p.begun).String()+" "+fmt.Sprintf(format, args...))
}

func (p *postponer) process(_ context.Context, it Item, q *Queue) string {
	p.note("%s %s", it.Meta.UID, it.Meta.ResourceVersion)
	if it.Meta.ResourceVersion == "1" {
		q.Postpone(time.Hour, Retrying, func(ctx context.Context, left time.Duration, _ *Queue) string {
			p.note("%s waits no more, left %v, %v", it.Meta.UID, left, ctx.Err())
			return ""
		})
	}
	return ""
}

// postponing makes queues with such a process.
func postponing() (*postponer, *Queues) {
	p := &postponer{begun: time.Now()}
	qs := New(0)
	qs.Process, qs.Idle = p.process, time.Minute
	return p, qs
}

func TestPostponedObjects(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int
		then  func(ctx context.Context, qs *Queues, put func(string, int))
		want  []string
	}{
		"for the whole time": {
			then: func(context.Context, *Queues, func(string, int)) { time.Sleep(2 * time.Hour) },
			want: []string{"0s a 1", "1h0m0s a waits no more, left 0s, <nil>"},
		},
		"until an event, which is handled next": {
			then: func(_ context.Context, _ *Queues, put func(string, int)) { time.Sleep(time.Minute); put("a", 2) },
			want: []string{"0s a 1", "1m0s a waits no more, left 59m0s, <nil>", "1m0s a 2"},
		},
		"until the operator exits": {
			then: func(_ context.Context, qs *Queues, _ func(string, int)) {
				time.Sleep(time.Minute)
				qs.Drain(func() {}, time.Second) // nothing needs to be cancelled
			},
			want: []string{"0s a 1", "1m0s a waits no more, left 59m0s, <nil>"},
		},
		"until the work is cancelled": {
			then: func(context.Context, *Queues, func(string, int)) { time.Sleep(time.Minute) },
			want: []string{"0s a 1", "1m0s a waits no more, left 59m0s, context canceled"},
		},
		"until a nudge, as if the time was over": {
			then: func(_ context.Context, qs *Queues, _ func(string, int)) {
				time.Sleep(time.Minute)
				qs.nudge("a")
				time.Sleep(time.Hour)
			},
			want: []string{"0s a 1", "1m0s a waits no more, left 0s, <nil>"},
		},
		"with a worker of a limited number": {
			limit: 1,
			then: func(_ context.Context, _ *Queues, put func(string, int)) {
				put("b", 1)
				put("c", 2)
				time.Sleep(3 * time.Hour)
			},
			want: []string{"0s a 1", "1h0m0s a waits no more, left 0s, <nil>", "1h0m0s b 1", "2h0m0s b waits no more, left 0s, <nil>", "2h0m0s c 2"},
		},
		"before others that wait for a worker, when an event comes": {
			limit: 1,
			then: func(_ context.Context, _ *Queues, put func(string, int)) {
				put("b", 2)
				time.Sleep(time.Minute)
				put("a", 2)
				time.Sleep(time.Hour)
			},
			want: []string{"0s a 1", "1m0s a waits no more, left 59m0s, <nil>", "1m0s b 2", "1m0s a 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, qs := postponing()
				qs.limit = tt.limit
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				put := func(uid string, version int) { qs.Put(ctx, event(uid, version, watching.Modified)) }
				put("a", 1)
				synctest.Wait()
				if s := qs.State("a"); !s.Working || s.Why != Retrying || time.Until(s.Until) != time.Hour {
					t.Errorf("the object that waits is %+v", s)
				}
				tt.then(ctx, qs, put)
				synctest.Wait()
				if name == "until the work is cancelled" {
					cancel()
				}
				if !qs.closed {
					qs.Drain(cancel, time.Second)
				}
				if !slices.Equal(p.lines, tt.want) {
					t.Errorf("got %q\nwant %q", p.lines, tt.want)
				}
				if waiting, busy := qs.Load(); waiting != 0 || busy != 0 || qs.slots != 0 {
					t.Errorf("%d events, %d workers and %d slots are left", waiting, busy, qs.slots)
				}
			})
		})
	}
}

// An object that waits has no goroutine, and takes little memory.
func TestPostponedObjectsTakeLittle(t *testing.T) {
	const objects, most = 10_000, 1500
	_, qs := postponing()
	qs.Idle = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	before, goroutines := boundedtest.InUse(), runtime.NumGoroutine()
	for i := range objects {
		qs.Put(ctx, event(fmt.Sprint("object", i), 1, watching.Modified))
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if more := runtime.NumGoroutine() - goroutines; more > 0 {
		t.Errorf("%d goroutines wait", more)
	}
	if each := (boundedtest.InUse() - before) / objects; each > most {
		t.Errorf("an object that waits takes %d bytes, want at most %d", each, most)
	} else {
		t.Logf("%d bytes", each)
	}
	qs.Drain(cancel, time.Minute)
}
