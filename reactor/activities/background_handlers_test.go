package activities

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestAttemptsKeepNothing: what an attempt has returned is given back before the next one, or a handler that is retried for days has
// taken all the memory of its operator; and so is its task.
func TestAttemptsKeepNothing(t *testing.T) {
	const attempts = 20
	failure := fmt.Sprintf(`{"step":"done","transforms":1,"error":{"kind":"temporary","message":"%s","delay":1}}`, strings.Repeat("x", 1000))
	for _, kind := range []abi.Kind{abi.KindBackground, abi.KindStartup} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest, account := &reactortest.Scripted{}, accounts.New(accounts.Limits{PatchMemory: 5000})
				for range attempts - 1 {
					guest.Attempts = append(guest.Attempts, failure)
				}
				h := reactortest.HandlerOf(t, guest, fmt.Sprintf(`{"kind":%q,"id":"fn"}`, kind))
				e, err := generations.New(0, &registries.Registry{}, handling.Services{Account: account}, nil)
				if err != nil {
					t.Fatal(err)
				}
				a := &Activity{Kind: kind, Handlers: []*registries.Handler{h}, Settings: settings.Default(), Services: e.Services, Log: zerolog.Nop()}
				if kind == abi.KindBackground {
					background := &Background{}
					if err := background.Start(t.Context(), a, e, nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour)
					background.Stop()
				} else if _, err := a.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if n := len(guest.Times); n != attempts || guest.Alive > 0 {
					t.Errorf("%d attempts, %d tasks are alive", n, guest.Alive)
				}
				if took := guest.Times[len(guest.Times)-1].Sub(guest.Times[0]); took != (attempts-1)*time.Second {
					t.Errorf("the attempts took %v: memory was refused", took)
				}
			})
		})
	}
}

// TestBackgroundOfANewLeader: a replica that becomes the leader during a replacement starts the handlers, and the replacement does, too.
// Those that ran already were stopped and called again. If the leader came last with the replaced ones, none ran any more.
func TestBackgroundOfANewLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Counting{Step: abi.Step{Step: abi.StepWait, Stoppable: true}}
		h := reactortest.HandlerOf(t, guest, `{"kind":"background","id":"fn"}`)
		background, of := &Background{}, make([]*generations.Generation, 2)
		start := func(n int) {
			t.Helper()
			a := &Activity{Kind: abi.KindBackground, Handlers: []*registries.Handler{h}, Settings: settings.Default(), Services: of[n].Services, Log: zerolog.Nop()}
			if err := background.Start(t.Context(), a, of[n], nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for n := range of {
			var err error
			if of[n], err = generations.New(uint32(n), &registries.Registry{}, handling.Services{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		start(0)
		start(0)
		if n := guest.Begun.Load(); n != 1 {
			t.Errorf("called %d times", n)
		}
		of[0].Replaced.Store(true)
		start(1)
		start(0)
		if n := guest.Begun.Load(); n != 2 || background.halt == nil {
			t.Errorf("called %d times, runs: %t", n, background.halt != nil)
		}
		background.Stop()
	})
}

// broken is a guest about which the host panics.
type broken struct{ *reactortest.Counting }

func (broken) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	panic("about a step")
}

// TestDefectsEndNoProcess: a panic of the host in its work for a handler of no object ended all operators of the process.
func TestDefectsEndNoProcess(t *testing.T) {
	for _, kind := range []abi.Kind{abi.KindBackground, abi.KindStartup} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			h := reactortest.HandlerOf(t, broken{&reactortest.Counting{}}, fmt.Sprintf(`{"kind":%q,"id":"fn"}`, kind))
			e, err := generations.New(0, &registries.Registry{}, handling.Services{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			a := &Activity{Kind: kind, Handlers: []*registries.Handler{h}, Settings: settings.Default(), Services: e.Services, Log: zerolog.New(&log)}
			if kind == abi.KindBackground {
				background := &Background{}
				if err := background.Start(t.Context(), a, e, nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				background.Stop()
			} else if _, err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a defect of the host: about a step") {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(log.String(), "a defect of the host: about a step") || !strings.Contains(log.String(), "goroutine") {
				t.Errorf("%s: the log has no stack: %s", kind, &log)
			}
		})
	}
}
