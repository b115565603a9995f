package streams

import (
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Dropped items do not keep a gate closed.
func TestDroppedItemsOpenTheGate(t *testing.T) {
	g := indexing.NewGate()
	g.Add()
	qs := queueing.New(0)
	qs.Drain(func() {}, 0)
	sink := &againSink{queueSink: &queueSink{ctx: t.Context(), queues: qs, gate: g}, common: &Common{}}
	sink.Event(watching.Event{Type: watching.Listed, Meta: watching.Meta{UID: "a"}})
	sink.Listed()
	if !g.IsOpen() {
		t.Error("the gate is closed for ever")
	}
}

// TestStreamsAndObjectsAreCharged: what is there is charged, and an operator without memory for it has to end. The objects stay known when
// the stream ends.
func TestStreamsAndObjectsAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tenant := &accounts.Tenant{Budget: accounts.NewBudget(1000)} // less than they take
		s := newScene(t, stocked(3), newNoting())
		s.Account = accounts.New(accounts.Limits{})
		s.Account.Charge = accounts.NewCharge(tenant)
		s.Memories.Account = s.Account
		streams, known := 0, 0
		s.By.Refuse, s.Memories.Scarce = func(error) { streams++ }, func(error) { known++ }
		leave := s.serve(t)
		synctest.Wait()
		if objects, held := s.Memories.Count(), tenant.Memory(); objects != 3 || held < streamCost+3<<10 {
			t.Errorf("%d objects are known, and %d bytes are charged", objects, held)
		}
		if streams != 1 || known != 3 {
			t.Errorf("it has to end because of %d streams and %d objects", streams, known)
		}
		before := tenant.Memory()
		leave()
		if freed := before - tenant.Memory(); freed != streamCost {
			t.Errorf("the end of the stream gives back %d bytes", freed)
		}
	})
}
