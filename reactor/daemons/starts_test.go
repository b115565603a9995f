package daemons

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// TestDaemonsBeginInOrder checks that daemons and timers of one cycle begin one after
// another, each until it waits. Their patches wait for the patch of the cycle.
func TestDaemonsBeginInOrder(t *testing.T) {
	scripts := map[string][]string{
		"waits":   {`{"step":"wait","stoppable":true}`},
		"sleeps":  {`{"step":"wait","seconds":3600}`},
		"fails":   {`{"step":"done","error":{"kind":"temporary","message":"later","delay":500}}`},
		"ends":    {`{"step":"done"}`},
		"patches": {`{"step":"done","patch":{"status":{"x":1}}}`},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &reactortest.Scripted{Scripts: scripts, Begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
		ctx, cancel := context.WithCancel(t.Context())
		var group Starts
		all := map[string]*life{}
		want := []string{"patches", "sleeps", "ends", "waits", "fails"}
		for _, id := range want {
			b := s.newLife(t, `{"kind":"daemon","id":"`+id+`","resource":{"args":["x"]}}`)
			b.patching = group.add(b.daemon, func() { go b.live(ctx, b.begin) })
			all[id] = b
		}
		group.Start()
		var got []string
		for _, inv := range s.guest.Invocations {
			got = append(got, inv.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("began in the order %v, want %v", got, want)
		}
		if took := time.Since(s.guest.Begin); took > 0 {
			t.Errorf("waits %v for them", took)
		}
		synctest.Wait() // one that has had its turn may still be ending
		if all["patches"].isDone() || !all["ends"].isDone() {
			t.Error("it patches before its cycle has, or does not end")
		}
		cancel()
		for _, b := range all {
			b.kill()
			<-b.done
		}
		group.Release()
		group.Free() // nothing is left to do
	})
}

// TestInstantExits checks that a stopped daemon is waited for while it reacts.
func TestInstantExits(t *testing.T) {
	tests := []struct {
		name, script string
		done         bool
	}{
		{"it ends", `{"step":"wait","stoppable":true}`, true},
		{"it does not care", `{"step":"wait","seconds":3600}`, false},
		{"it is between attempts", `{"step":"done","error":{"kind":"temporary","message":"later","delay":500}}`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Attempts: []string{test.script}, Begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
				b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				b.start(t.Context())
				synctest.Wait()
				b.signal(abi.StopOperatorExiting)
				if b.isDone() != test.done || time.Since(s.guest.Begin) > 0 {
					t.Errorf("done: %t after %v; want %t at once", b.isDone(), time.Since(s.guest.Begin), test.done)
				}
				b.kill()
				time.Sleep(2 * time.Hour)
				<-b.done
			})
		})
	}
}

// TestWaitingIsBegun checks that daemons that wait without a step, as plugins do, delay
// their cycle until they wait, for any time. Those that wait for others do not.
func TestWaitingIsBegun(t *testing.T) {
	const computing = time.Hour
	tests := []struct {
		name string
		ends func(d *daemon, e guests.Env) // after a computation
	}{
		{"in a host function", func(_ *daemon, e guests.Env) { e.Waits() }},
		{"for a step", func(d *daemon, _ guests.Env) { d.stopper.Await(nil, stoppers.AnyReason, func() {}) }},
		{"for a worker", func(d *daemon, _ guests.Env) {
			full := NewRunnables()
			full.Limit(1)
			leave, _ := full.Enter(context.Background(), &registries.Handler{}, nil)
			go func() { // It ends with leave.
				time.Sleep(computing)
				leave()
			}()
			_, _ = full.Enter(context.Background(), &registries.Handler{}, d.stopper.Waits)
		}},
		{"no more, after the request to stop", func(d *daemon, _ guests.Env) { d.stopper.Set(abi.StopOperatorExiting) }},
		{"no more, as it has ended", func(d *daemon, _ guests.Env) { close(d.done) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own := stoppers.New()
				d := &daemon{stopper: own, done: make(chan struct{})}
				var group Starts
				group.add(d, func() {
					go func() { // It ends after a computation.
						time.Sleep(computing)
						test.ends(d, &handling.Env{Cause: handling.NewCause(&handling.Object{}, &handling.Daemon{Stopper: own})})
					}()
				})
				begin := time.Now()
				group.Start()
				if took := time.Since(begin); took != computing {
					t.Errorf("the cycle waited for %v", took)
				}
				time.Sleep(2 * computing) // until all goroutines have ended
			})
		})
	}
}

// TestBeginningIsNotMissed checks that a daemon that waits before its cycle looks at it
// counts as begun.
func TestBeginningIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{stopper: stoppers.New(), done: make(chan struct{})}
		var group Starts
		group.add(d, d.stopper.Waits)
		group.Start()
	})
}

// TestWaitOfAnEndingDaemonIsNotARest checks the wait of a stopped daemon for an instance: it
// does not count as rest.
func TestWaitOfAnEndingDaemonIsNotARest(t *testing.T) {
	own := stoppers.New()
	own.Set(abi.StopOperatorExiting)
	rest := own.Resting()
	own.Waits()
	select {
	case <-rest:
		t.Error("it rests")
	default:
	}
}
