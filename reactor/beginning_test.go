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
		s := newStage(t, &scripted{scripts: scripts, begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
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
				s := newStage(t, &scripted{attempts: []string{test.script}, begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
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

// TestAskedHasBegun: a daemon that waits in a way of its own, as plugins do, holds up
// its cycle until it asks whether it is to end.
func TestAskedHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := newStopper()
		asks := &env{cause: &cause{stopper: own}}
		d := &daemon{stopper: own, done: make(chan struct{})}
		var group spawned
		group.add(d, func() {
			go func() {
				time.Sleep(restPatience / 5)
				asks.Stopped()
			}()
		})
		begin := time.Now()
		group.start()
		if took := time.Since(begin); took != restPatience/5 {
			t.Errorf("it was waited for during %v", took)
		}
		own.set(abi.StopOperatorExiting)
		if bits := asks.Stopped(); bits != abi.StopOperatorExiting {
			t.Errorf("the reasons are %b", bits)
		}
	})
}
