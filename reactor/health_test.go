package reactor

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// blocking is a sink that never returns.
type blocking struct{ release <-chan struct{} }

func (b blocking) Event(watching.Event) { <-b.release }
func (blocking) Listed()                {}

// state returns the state of an operator's only stream.
func state(t *testing.T, op *Operator) watching.State {
	t.Helper()
	states := op.Streams()
	if len(states) != 1 {
		t.Fatalf("%d streams, want 1", len(states))
	}
	return states[0]
}

// A stream that hangs, and one that ends unexpectedly, count as broken.
func TestStreamsAreSupervised(t *testing.T) {
	op := configured(t, map[string]string{"watching.inactivity_timeout": "1"})
	served(t, op, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[{"kind":"K","metadata":{"uid":"u","name":"n"}}]}`))
	})
	stream := &watching.Stream{Client: op.client, Path: "/x", Options: func() watching.Options { return watching.OptionsOf(op.Settings) }, Log: func(int, string) {}}
	item := &watching.Supervised{Stream: stream, Resource: "ks.v.g", Namespace: "ns", Paused: op.pauses.IsOn}
	hanging, release := context.WithCancel(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		op.states.Supervise(ctx, item, func() { _ = stream.Run(ctx, blocking{hanging.Done()}) })
	})
	until(t, "an object is there", func() bool { return len(op.Streams()) > 0 && op.Streams()[0].Events > 0 })
	now := time.Now()
	if s := state(t, op); s.Broken(now) || s.Delivering(now) || s.Resource != "ks.v.g" || s.Namespace != "ns" {
		t.Errorf("while it lists: %+v", s)
	}
	if s, later := state(t, op), now.Add(time.Minute); !s.Broken(later) || s.Delivering(later) {
		t.Errorf("after a minute without a move: %+v", s)
	}
	op.pauses.Set(pauses.Reason{}, true)
	if s, later := state(t, op), now.Add(time.Minute); s.Broken(later) || !s.Delivering(later) {
		t.Errorf("while the operator pauses: %+v", s)
	}
	op.pauses.Set(pauses.Reason{}, false)
	release()
	until(t, "it delivers", func() bool { return state(t, op).Delivering(time.Now()) })
	cancel()
	running.Wait()
	if states := op.Streams(); len(states) > 0 {
		t.Errorf("a stream that has ended in order is still there: %+v", states)
	}
	op.states.Supervise(t.Context(), item, func() {})
	if s := state(t, op); !s.Dead || !s.Broken(time.Now()) || s.Delivering(time.Now()) {
		t.Errorf("a stream that has ended by itself: %+v", s)
	}
}

// A stream that cannot reach its server does not deliver, but is not broken.
func TestUnreachableServer(t *testing.T) {
	op := configured(t, map[string]string{"networking.error_backoffs": "[]"})
	served(t, op, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	stream := &watching.Stream{Client: op.client, Path: "/x", Options: func() watching.Options { return watching.OptionsOf(op.Settings) }, Log: func(int, string) {}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		op.states.Supervise(ctx, &watching.Supervised{Stream: stream}, func() { _ = stream.Run(ctx, silent{func() {}}) })
	})
	until(t, "an attempt has failed", func() bool { return len(op.Streams()) > 0 && op.Streams()[0].Failures > 0 })
	if s := state(t, op); s.Broken(time.Now()) || s.Delivering(time.Now()) || s.Error == "" {
		t.Errorf("%+v", s)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting until %s", what)
		}
	}
}

// A dry run works next to the leader of the replicas, and is none of them.
func TestADryRunHasNoReplicas(t *testing.T) {
	op := configured(t, nil)
	op.Lease = &Lease{}
	for _, dry := range []bool{false, true} {
		if dry {
			op.DryRun = func(next http.RoundTripper) http.RoundTripper { return next }
		}
		if _, leads, shared := op.Leader(); leads || shared == dry {
			t.Errorf("dry run: %t, leads: %t, has replicas: %t", dry, leads, shared)
		}
	}
}
