package daemons

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// TestBodiesOfDaemonsAreBounded checks that objects beyond the limit have no daemons for
// now.
func TestBodiesOfDaemonsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := accounts.New(accounts.Limits{BodyMemory: 100_000})
		var one, two Memory
		run := func(m *Memory) *daemon {
			d := &daemon{handler: &registries.Handler{ID: "fn"}, stopper: stoppers.New(), done: make(chan struct{})}
			if !m.add(d) {
				t.Fatal("it runs already")
			}
			return d
		}
		if err := one.Follow(account, reactortest.Text(60_000)); err != nil || reactortest.Held(account, accounts.Bodies) != 0 {
			t.Errorf("a body is kept for no daemon: %v", err)
		}
		first := run(&one)
		run(&two)
		if err := one.Follow(account, reactortest.Text(60_000)); err != nil {
			t.Fatal(err)
		}
		err := two.Follow(account, reactortest.Text(60_000))
		if err == nil || !strings.Contains(err.Error(), "the limit BodyMemory of 100000 bytes is reached") || two.live.Load() != nil {
			t.Errorf("error %v", err)
		}
		if err := one.Follow(account, reactortest.Text(120_000)); err == nil || len(*one.live.Load()) != 60_000 {
			t.Errorf("a body has grown beyond the limit: %v", err)
		}
		one.ended(first, false)
		if err := two.Follow(account, reactortest.Text(60_000)); err != nil {
			t.Errorf("there is room again: %v", err)
		}
	})
}

// TestEachAttemptGivesItsResultBack: at its end, and not when the garbage is collected: in a process with a large heap, a timer
// that fails often would use up PatchMemory until then.
func TestEachAttemptGivesItsResultBack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	synctest.Test(t, func(t *testing.T) {
		const attempts, size = 50, 10_000
		account := accounts.New(accounts.Limits{PatchMemory: 3 * size})
		failed := `{"step":"done","error":{"kind":"temporary","message":"` + strings.Repeat("x", size) + `","delay":1}}`
		s := newScene(t, &reactortest.Scripted{Attempts: append(slices.Repeat([]string{failed}, attempts), `{"step":"done"}`)}, `{}`)
		s.cause.Account = account
		b := s.newLife(t, `{"id":"fn","resource":{"args":["x"]},"kind":"daemon"}`)
		b.start(t.Context())
		<-b.done
		for _, usage := range account.Usage() {
			if usage.Kind == accounts.Patches && usage.Used+usage.Refused != 0 {
				t.Errorf("%+v", usage)
			}
		}
		if len(s.guest.Attempts) > 0 {
			t.Errorf("%d attempts are left\n%.1000s", len(s.guest.Attempts), &s.log)
		}
	})
}
