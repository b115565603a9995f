package daemons

import (
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
