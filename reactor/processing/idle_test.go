package processing

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
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
