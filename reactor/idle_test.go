package reactor

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// BenchmarkIdleObject is the memory that an operator keeps for an object that is
// handled and left alone.
func BenchmarkIdleObject(b *testing.B) {
	server := &memoryServer{}
	p := newBenchProcessor(b, server)
	qs := newQueues(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const objects = 5000
	for n := range objects {
		server.version, server.object = n, newObject(n)
		q := &queue{owner: qs, arrived: make(chan struct{}, 1)}
		for _, kind := range []string{watching.Added, watching.Modified} {
			event := watching.Event{Type: kind, Object: server.object, Meta: watching.Meta{UID: fmt.Sprint("uid-", n)}}
			p.handleOne(b.Context(), item{Event: event}, q)
		}
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/objects, "B/object")
	runtime.KeepAlive(p)
}
