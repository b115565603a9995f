package processing

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// overloaded is a server that refuses the first request and accepts the others.
type overloaded struct{ requests atomic.Int64 }

func (s *overloaded) RoundTrip(*http.Request) (*http.Response, error) {
	if s.requests.Add(1) == 1 {
		return reactortest.Answer(http.StatusServiceUnavailable, http.NoBody), nil
	}
	return reactortest.Answer(http.StatusOK, io.NopCloser(bytes.NewReader(reactortest.NewObject(1)))), nil
}

// A daemon whose patch is retried does not affect the cycle that has created it: the
// worker of the object keeps its slot.
func TestDaemonsInheritNothingOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Begin: time.Now(), Attempts: []string{`{"step":"done","patch":{"status":{"x":1}}}`}}
		server := &overloaded{}
		h := reactortest.HandlerOf(t, guest, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
		p := newProcessor(&registries.Registry{}, server)
		qs := queueing.New(0)
		qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			own := &handling.Object{Services: p.Generation.Services, Resource: &p.Resource, Raw: it.Object, Log: loggers.Logger{Logger: &p.Log}}
			with := &daemons.Attendance{Cause: handling.NewCause(own, nil), Memory: p.Memories.recall(it.Meta.Key(), false).daemons(), Starts: &daemons.Starts{}, Nudge: q.Nudger()}
			if err := p.Engine.Spawn(ctx, with, h); err != nil {
				t.Error(err)
			}
			with.Starts.Free()
			time.Sleep(time.Hour) // computes
			return ""
		}
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Added, Object: reactortest.NewObject(1), Meta: watching.Meta{UID: "uid-1"}}})
		time.Sleep(time.Minute)
		if n := server.requests.Load(); n != 2 || p.Runnables.Count() != 0 {
			t.Errorf("%d requests, %d daemons run", n, p.Runnables.Count())
		}
		if n := qs.Taken(); n != 1 {
			t.Errorf("%d slots are taken, want that of the worker", n)
		}
		qs.Drain(cancel, 2*time.Hour)
	})
}

// A throttled object does not hold replaced handlers. The event is handled by the current
// handlers after the throttling.
func TestThrottledObjectsHoldNoGeneration(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindUpdate, ID: "update_fn", Resource: &resource}}})
	if err != nil {
		t.Fatal(err)
	}
	const broken = `{"metadata":{"name":"n","namespace":"default","annotations":{"kopf.zalando.org/last-handled-configuration":"?"}}}`
	synctest.Test(t, func(t *testing.T) {
		p := newProcessor(registry, &reactortest.MemoryServer{})
		first := p.Generation
		p.Settings.Queueing.ErrorDelays = backoffs.Seconds(3600)
		begins := make(chan time.Duration, 9)
		began := time.Now()
		qs := queueing.New(0)
		qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			first.Hold()
			version, again := p.Process(ctx, it, q)
			if again {
				begins <- time.Since(began)
			}
			return version
		}
		ctx, cancel := context.WithCancel(t.Context())
		put := func() {
			qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: []byte(broken), Meta: watching.Meta{UID: "uid"}}})
			time.Sleep(time.Minute)
		}
		put() // fails
		released := make(chan struct{})
		go func() {
			first.Holders.Wait()
			close(released)
		}()
		synctest.Wait()
		select {
		case <-released:
		default:
			t.Error("the generation is held after the failure")
		}
		put() // waits for the end of the throttling
		first.Holders.Wait()
		if len(begins) > 0 {
			t.Errorf("handled again after %v", <-begins)
		}
		time.Sleep(2 * time.Hour)
		if after := <-begins; len(begins) > 0 || after != time.Hour {
			t.Errorf("handled again after %v, and %d times more, want once after 1h", after, len(begins))
		}
		qs.Drain(cancel, time.Second)
	})
}

// The generation is released once, even if a cycle sleeps several times.
func TestCyclesReleaseOnce(t *testing.T) {
	e, err := generations.New(0, &registries.Registry{}, handling.Services{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Hold()
	c := &cycle{held: e}
	c.release()
	c.release()
	e.Holders.Wait()
}
