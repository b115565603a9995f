package reactor

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// TestSpawnedBeginInOrder: daemons and timers of one cycle begin one after another, each
// up to where it waits; what they patch waits for the patch of the cycle.
func TestSpawnedBeginInOrder(t *testing.T) {
	scripts := map[string][]string{
		"waits":   {`{"step":"wait","stoppable":true}`},
		"sleeps":  {`{"step":"wait","seconds":3600}`},
		"fails":   {`{"step":"done","error":{"kind":"temporary","message":"later","delay":500}}`},
		"ends":    {`{"step":"done"}`},
		"patches": {`{"step":"done","patch":{"status":{"x":1}}}`},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &scripted{scripts: scripts, begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
		ctx, cancel := context.WithCancel(t.Context())
		var group spawned
		all := map[string]*background{}
		want := []string{"patches", "sleeps", "ends", "waits", "fails"}
		for _, id := range want {
			b := s.beside(t, `{"kind":"daemon","id":"`+id+`","resource":{"args":["x"]}}`)
			b.patching = group.add(b.daemon, func() { go b.live(ctx, b.begin) })
			all[id] = b
		}
		group.start()
		var got []string
		for _, inv := range s.guest.invocations {
			got = append(got, inv.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("began in the order %v, want %v", got, want)
		}
		if took := time.Since(s.guest.begin); took > 0 {
			t.Errorf("waits %v for them", took)
		}
		if all["patches"].isDone() || !all["ends"].isDone() {
			t.Error("it patches before its cycle has, or does not end")
		}
		cancel()
		for _, b := range all {
			b.kill()
			<-b.done
		}
		group.release()
		group.free() // nothing is left to do
	})
}

// TestInstantExits: a stopped daemon is waited for as long as it does anything about it.
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
				s := newScene(t, &scripted{attempts: []string{test.script}, begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
				b := s.beside(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				b.start(t.Context())
				synctest.Wait()
				b.signal(abi.StopOperatorExiting)
				if b.isDone() != test.done || time.Since(s.guest.begin) > 0 {
					t.Errorf("done: %t after %v; want %t at once", b.isDone(), time.Since(s.guest.begin), test.done)
				}
				b.kill()
				time.Sleep(2 * time.Hour)
				<-b.done
			})
		})
	}
}

// TestWaitingIsBegun: daemons that wait without a step, as plugins do, hold up their cycle
// until they wait, however long that takes; those that wait for others do not.
func TestWaitingIsBegun(t *testing.T) {
	const computing = time.Hour
	tests := []struct {
		name string
		ends func(d *daemon, e Env) // after some computing
	}{
		{"in a host function", func(_ *daemon, e Env) { e.Waits() }},
		{"for a step", func(d *daemon, _ Env) { d.stopper.await(nil, anyReason, func() {}) }},
		{"for a worker", func(d *daemon, _ Env) {
			full := newRunnables()
			full.limit(1)
			leave, _ := full.enter(context.Background(), &Handler{}, nil)
			go func() { // Ends with leave.
				time.Sleep(computing)
				leave()
			}()
			_, _ = full.enter(context.Background(), &Handler{}, d.stopper.waits)
		}},
		{"no more, as it is told to stop", func(d *daemon, _ Env) { d.stopper.set(abi.StopOperatorExiting) }},
		{"no more, as it has ended", func(d *daemon, _ Env) { close(d.done) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own := newStopper()
				d := &daemon{stopper: own, done: make(chan struct{})}
				var group spawned
				group.add(d, func() {
					go func() { // Ends after some computing.
						time.Sleep(computing)
						test.ends(d, &env{cause: newCause(&object{}, &daemonKind{stopper: own})})
					}()
				})
				begin := time.Now()
				group.start()
				if took := time.Since(begin); took != computing {
					t.Errorf("the cycle waited for %v", took)
				}
				time.Sleep(2 * computing) // until all goroutines have ended
			})
		})
	}
}

// TestBeginningIsNotMissed: a daemon that waits before its cycle looks at it has begun.
func TestBeginningIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{stopper: newStopper(), done: make(chan struct{})}
		var group spawned
		group.add(d, d.stopper.waits)
		group.start()
	})
}

// TestWaitOfAnEndingDaemonIsNoRest: others use its instance, and it ends right after.
func TestWaitOfAnEndingDaemonIsNoRest(t *testing.T) {
	own := newStopper()
	own.set(abi.StopOperatorExiting)
	rest := own.resting()
	own.waits()
	select {
	case <-rest:
		t.Error("it rests")
	default:
	}
}
