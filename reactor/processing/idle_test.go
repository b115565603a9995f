package processing

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// BenchmarkIdleObject measures the memory that an operator keeps for an idle object after
// its handling.
func BenchmarkIdleObject(b *testing.B) {
	server := &reactortest.MemoryServer{}
	p := newBenchProcessor(b, server)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const objects = 5000
	for n := range objects {
		server.Version, server.Object = n, reactortest.NewObject(n)
		q := queueing.Alone()
		for _, kind := range []string{watching.Added, watching.Modified} {
			event := watching.Event{Type: kind, Object: server.Object, Meta: watching.Meta{UID: fmt.Sprint("uid-", n)}}
			p.handleOne(b.Context(), queueing.Item{Event: event}, q)
		}
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/objects, "B/object")
	runtime.KeepAlive(p)
}

// An object that waits for a delayed handler has no goroutine, and takes no more than what is counted for it.
func TestObjectsThatWaitTakeLittle(t *testing.T) {
	const objects = 3000
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
	if err != nil {
		t.Fatal(err)
	}
	p := newProcessor(registry, &reactortest.MemoryServer{})
	tenant := &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}
	p.Memories.Account = accounts.New(accounts.Limits{})
	p.Memories.Account.Charge = accounts.NewCharge(tenant)
	qs := queueing.New(0)
	qs.Idle = time.Millisecond
	qs.Process = p.handle
	ctx, cancel := context.WithCancel(t.Context())
	begun := time.Now().UTC()
	before, goroutines := boundedtest.InUse(), runtime.NumGoroutine()
	for n := range objects {
		qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Added, Object: delayed(n, begun.AddDate(50, 0, 0)), Meta: watching.Meta{UID: fmt.Sprint("uid-", n)}}})
	}
	for deadline := time.Now().Add(time.Minute); (runtime.NumGoroutine() > goroutines || p.Generation.Services.Tally.Counts().Delayed < objects) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if waits, more := p.Generation.Services.Tally.Counts().Delayed, runtime.NumGoroutine()-goroutines; waits != objects || more > 0 {
		t.Errorf("%d objects wait, and %d goroutines", waits, more)
	}
	each := (boundedtest.InUse() - before) / objects
	if held := int(tenant.Memory()) / objects; held != waitingCost+objectCost {
		t.Errorf("%d bytes are counted for each object", held)
	}
	if t.Logf("%d bytes", each); each > waitingCost+objectCost {
		t.Errorf("an object that waits takes %d bytes, want at most what is counted, %d", each, waitingCost+objectCost)
	}
	qs.Drain(cancel, time.Minute)
	if waits, held := p.Generation.Services.Tally.Counts().Delayed, int(tenant.Memory())/objects; waits != 0 || held != objectCost {
		t.Errorf("%d objects wait after the end, and %d bytes are counted for each", waits, held)
	}
}
