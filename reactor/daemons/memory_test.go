package daemons

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// TestDaemonsCount: each daemon of an object takes memory of the account, besides the body. One that has ended by itself is remembered
// until the object is gone.
func TestDaemonsCount(t *testing.T) {
	account := accounts.New(accounts.Limits{BodyMemory: 3*cost + 100})
	used := func() int { return account.Usage()[accounts.Bodies].Used }
	m, body := &Memory{}, make([]byte, 100)
	var all []*daemon
	add := func() error {
		d := &daemon{handler: &registries.Handler{ID: fmt.Sprint(len(all))}, stopper: stoppers.New()}
		all = append(all, d)
		if !m.add(d) || !m.runs(d.handler.ID) {
			t.Fatalf("%s does not run", d.handler.ID)
		}
		return m.Follow(account, body)
	}
	for range 3 {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	if used() != 3*cost+100 {
		t.Errorf("%d bytes are used", used())
	}
	if err := add(); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("one more: %v", err)
	}
	for i, want := range []int{3*cost + 100, 2*cost + 100 + 2*overCost, cost + 100 + 3*overCost, 4 * overCost} {
		m.ended(all[3-i], false)
		if m.runs(all[3-i].handler.ID) || used() != want {
			t.Errorf("%d bytes are used without %d of them, want %d", used(), i+1, want)
		}
	}
	if m.Renew(1); used() != 0 {
		t.Errorf("%d bytes are used for those of replaced handlers", used())
	}
}

// TestManyHandlersOfDaemonsCount: which of ten thousand handlers run is asked for each event, and takes a millisecond: it is computing of
// the operator.
func TestManyHandlersOfDaemonsCount(t *testing.T) {
	for count, want := range map[int]int{3: 0, 1000: 1} {
		s := newScene(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"}}`)
		e := &Engine{}
		for i := range count {
			e.Handlers = append(e.Handlers, s.handler(t, fmt.Sprintf(`{"kind":"daemon","id":"h%d","resource":{"args":["x"]},"labels":{"a":"b"}}`, i)))
		}
		works := 0
		s.cause.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		a := &Attendance{Cause: s.cause, Memory: &s.memory}
		if found := e.living(t.Context(), a, true); len(found) != count || works != want {
			t.Errorf("%d of %d handlers, %d pieces of work, want %d", len(found), count, works, want)
		}
	}
}
