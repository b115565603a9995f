package processing

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// The stop signal arrives while a long listing is handled. Running daemons are stopped, no
// others begin, and the exit takes no longer than the end of one daemon.
func TestExitDuringListing(t *testing.T) {
	const objects = 3000
	synctest.Test(t, func(t *testing.T) {
		guest := reactortest.NewCounting(abi.Step{Step: abi.StepWait, Stoppable: true}, 10*time.Millisecond)
		registry, err := registries.New(guest)
		if err != nil {
			t.Fatal(err)
		}
		p := newProcessor(registry, reactortest.Unchanging(reactortest.NewObject(1)))
		p.Engine.Execution = p.Execution(progression.AllAtOnce, handling.ModeTemporary)
		qs := queueing.New(2)
		qs.Process, qs.Idle = p.handle, time.Second
		working, cancel := context.WithCancel(t.Context())
		for n := range objects {
			meta := watching.Meta{UID: fmt.Sprint("uid-", n), Name: fmt.Sprint("example-", n), Namespace: "default"}
			qs.Put(working, queueing.Item{Event: watching.Event{Type: watching.Listed, Object: reactortest.NewObject(n), Meta: meta}})
		}
		time.Sleep(time.Second)
		began, begun := time.Now(), guest.Begun.Load()
		if begun == 0 || begun > objects/2 {
			t.Fatalf("%d daemons have begun before the stop signal", begun)
		}
		var exit sync.WaitGroup
		exit.Go(p.Runnables.End)
		qs.Drain(cancel, p.Settings.Queueing.ExitTimeout)
		exit.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the exit took %v", took)
		}
		if late := guest.Begun.Load() - begun; late > 2 { // those that were already registered, one for each worker
			t.Errorf("%d daemons have begun after the stop signal", late)
		}
		if left := p.Runnables.Count(); left > 0 {
			t.Errorf("%d daemons run after the exit", left)
		}
	})
}
