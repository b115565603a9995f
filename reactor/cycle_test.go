package reactor

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
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// overloaded is a server that refuses the first request, and agrees to the others.
type overloaded struct{ requests atomic.Int64 }

func (s *overloaded) RoundTrip(*http.Request) (*http.Response, error) {
	if s.requests.Add(1) == 1 {
		return answer(http.StatusServiceUnavailable, http.NoBody), nil
	}
	return answer(http.StatusOK, io.NopCloser(bytes.NewReader(newObject(1)))), nil
}

// A daemon whose patch is repeated gives up nothing of the cycle that has spawned it: the
// worker of the object keeps its slot.
func TestDaemonsInheritNothingOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &scripted{begin: time.Now(), attempts: []string{`{"step":"done","patch":{"status":{"x":1}}}`}}
		server := &overloaded{}
		h := handlerOf(t, guest, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
		p := newProcessor(&Registry{}, server)
		qs := newQueues(0)
		qs.process = func(ctx context.Context, it item, q *queue) string {
			own := &object{services: p.generation.services, resource: &p.resource, raw: it.Object, log: logger{Logger: &p.log}}
			with := &attendance{cause: newCause(own, nil), memory: &p.memories.recall(it.Meta.Key(), false).background, spawned: &spawned{}, nudge: q.nudger()}
			if err := p.engine.spawn(ctx, with, h); err != nil {
				t.Error(err)
			}
			with.spawned.free()
			time.Sleep(time.Hour) // computes
			return ""
		}
		ctx, cancel := context.WithCancel(t.Context())
		qs.put(ctx, item{Event: watching.Event{Type: watching.Added, Object: newObject(1), Meta: watching.Meta{UID: "uid-1"}}})
		time.Sleep(time.Minute)
		if n := server.requests.Load(); n != 2 || p.runnables.count() != 0 {
			t.Errorf("%d requests, %d daemons run", n, p.runnables.count())
		}
		qs.mu.Lock()
		if qs.slots != 1 {
			t.Errorf("%d slots are taken, want that of the worker", qs.slots)
		}
		qs.mu.Unlock()
		qs.drain(cancel, 2*time.Hour)
	})
}

// A throttled object does not keep the handlers that were replaced meanwhile; the event is
// handled by those that are there when the throttling is over.
func TestThrottledObjectsHoldNoEdition(t *testing.T) {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: abi.KindUpdate, ID: "update_fn", Resource: &resource}}})
	if err != nil {
		t.Fatal(err)
	}
	const broken = `{"metadata":{"name":"n","namespace":"default","annotations":{"kopf.zalando.org/last-handled-configuration":"?"}}}`
	synctest.Test(t, func(t *testing.T) {
		p := newProcessor(registry, &memoryServer{})
		first := p.generation
		p.settings.Queueing.ErrorDelays = backoffs.Seconds(3600)
		begins := make(chan time.Duration, 9)
		began := time.Now()
		qs := newQueues(0)
		qs.process = func(ctx context.Context, it item, q *queue) string {
			first.hold()
			version, again := p.process(ctx, it, q)
			if again {
				begins <- time.Since(began)
			}
			return version
		}
		ctx, cancel := context.WithCancel(t.Context())
		put := func() {
			qs.put(ctx, item{Event: watching.Event{Type: watching.Modified, Object: []byte(broken), Meta: watching.Meta{UID: "uid"}}})
			time.Sleep(time.Minute)
		}
		put() // fails
		released := make(chan struct{})
		go func() {
			first.holders.Wait()
			close(released)
		}()
		synctest.Wait()
		select {
		case <-released:
		default:
			t.Error("the generation is held after the failure")
		}
		put() // waits for the end of the throttling
		first.holders.Wait()
		if len(begins) > 0 {
			t.Errorf("handled again after %v", <-begins)
		}
		time.Sleep(2 * time.Hour)
		if after := <-begins; len(begins) > 0 || after != time.Hour {
			t.Errorf("handled again after %v, and %d times more, want once after 1h", after, len(begins))
		}
		qs.drain(cancel, time.Second)
	})
}

// The generation is released once, however often a cycle has given it up to sleep.
func TestCyclesReleaseOnce(t *testing.T) {
	e, err := newGeneration(0, &Registry{}, services{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.hold()
	c := &cycle{held: e}
	c.release()
	c.release()
	e.holders.Wait()
}
