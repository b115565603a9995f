package operator

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/membership"
)

// TestIdleOperatorsHaveNoGoroutines: of operators with shared watches, only the watches have goroutines between events. Operators
// start, handle an object, confirm their rights, pass through the end of watches, and stop. Those of a host with replicas also wait
// until it leads, and for the loss of its Lease.
func TestIdleOperatorsHaveNoGoroutines(t *testing.T) {
	t.Run("alone", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { idle(t, nil) }) })
	t.Run("hosted", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { idle(t, newHosts(t)) }) })
}

// hosts are the replicas of a host. This one leads when the test says so.
type hosts struct {
	led, lost context.Context
	lead      context.CancelFunc
}

func newHosts(t *testing.T) *hosts {
	h := &hosts{lost: context.WithoutCancel(t.Context())}
	h.led, h.lead = context.WithCancel(h.lost)
	return h
}

func (h *hosts) Led() context.Context                  { return h.led }
func (h *hosts) Lost() context.Context                 { return h.lost }
func (*hosts) Hold() (time.Time, error)                { return time.Now().Add(time.Minute), nil }
func (h *hosts) HoldLead() (time.Time, error)          { return h.Hold() }
func (*hosts) Group() *membership.Group                { return nil }
func (h *hosts) Standing() (leader string, leads bool) { return "", h.led.Err() != nil }

func idle(t *testing.T, of *hosts) {
	named := func(i int) dicts.Object {
		return dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": fmt.Sprint("object-", i)}}
	}
	server := apiserver.New([]apiserver.Resource{apiserver.Guessed(named(0))})
	login := inMemory(server, Options{}).Login
	serving, end := context.WithCancel(t.Context())
	watches, err := ShareWatches(serving, WatchesOptions{Login: login, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan string, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 100)
	var replicas Replicas
	if of != nil {
		replicas = Replicas{Leadership: of, Duration: DefaultLeaseDuration}
	}
	start := func(i int) {
		guest := &guesttest.Guest{
			Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, fmt.Sprint("fn-", i), "")},
			Do: map[string]guesttest.Handler{fmt.Sprint("fn-", i): func(*guesttest.Call, *abi.Answer) *abi.Step {
				calls <- fmt.Sprint(i)
				return &abi.Step{Step: abi.StepDone}
			}},
		}
		op, err := New(ctx, inMemory(server, Options{Guests: []guests.Guest{guest}, Name: fmt.Sprint(i), Watches: watches, AllowOverlap: true, Namespaces: []string{"default"}, Replicas: replicas}))
		if err != nil {
			t.Fatal(err)
		}
		op.Start(ctx, func(err error) { ended <- err })
		<-op.Ready()
	}
	settle := func() int {
		time.Sleep(10 * time.Second) // what follows a start or an event
		synctest.Wait()
		return goroutines()
	}
	start(0)
	one := settle()
	const more = 10
	for i := range more {
		start(1 + i)
	}
	if got := settle(); got > one {
		t.Errorf("one idle operator has %d goroutines, its watches and the server included; %d have %d", one, 1+more, got)
	}
	if of != nil {
		of.lead()
		one++ // the watch of the resource, which all share, begins now
	}
	for round := range 2 {
		if err := server.Apply(ctx, named(round)); err != nil {
			t.Fatal(err)
		}
		got := settle()
		if len(calls) == 0 {
			t.Fatalf("round %d: no operator has handled the object", round)
		}
		for len(calls) > 0 {
			<-calls
		}
		if got > one {
			t.Errorf("round %d: %d goroutines after an event, want %d", round, got, one)
		}
		time.Sleep(time.Hour) // in which rights are confirmed, and watches end
	}
	server.Disconnect()
	if got := settle(); got > one {
		t.Errorf("%d goroutines after the end of all watches, want %d", got, one)
	}
	stop()
	for range 1 + more {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	end()
}

// goroutines counts those of the bubble of the test.
func goroutines() int {
	all := make([]byte, 4<<20)
	all = all[:runtime.Stack(all, true)]
	return len(regexp.MustCompile(`(?m)^goroutine .*synctest bubble`).FindAll(all, -1))
}
