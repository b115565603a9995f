package queueing

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestQueuesOverTheLimit checks that waiting bodies are bounded for any number of events,
// even if each raw event counts. Each object is handled, with its newest state last.
func TestQueuesOverTheLimit(t *testing.T) {
	const limit, objects, changes, size = 1 << 20, 100, 50, 10_000
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		var first sync.Once
		var mu sync.Mutex
		last := map[string]string{}
		bodiless := 0
		r := &recorder{work: func(_ context.Context, it Item, _ *Queue) string {
			first.Do(func() { <-busy })
			mu.Lock()
			defer mu.Unlock()
			last[it.Meta.UID] = it.Type + " " + it.Meta.ResourceVersion
			if it.Bodiless {
				bodiless++
			}
			return ""
		}}
		qs := testQueues(r)
		qs.every, qs.limit = true, 1
		qs.Account = accounts.New(accounts.Limits{PendingMemory: limit})
		ctx, cancel := context.WithCancel(t.Context())
		put := func(uid string, version int, kind string) {
			it := event(uid, version, kind)
			it.Object = make([]byte, size)
			qs.Put(ctx, it)
		}
		put("blocker", 1, watching.Added)
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for version := 1; version <= changes; version++ {
			for i := range objects {
				kind := watching.Modified
				if version == 1 {
					kind = watching.Added
				}
				put(fmt.Sprint("object", i), version, kind)
			}
		}
		put("object7", changes+1, watching.Deleted)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if more := int(after.HeapAlloc) - int(before.HeapAlloc); more > 4*limit {
			t.Errorf("the heap has %d bytes more for a limit of %d", more, limit)
		}
		if n := reactortest.Held(qs.Account, accounts.Pending); n > limit || n < limit/2 {
			t.Errorf("%d bytes are held", n)
		}
		close(busy)
		time.Sleep(time.Minute)
		cancel()
		qs.Drain(cancel, time.Second)
		for i := range objects {
			name, want := fmt.Sprint("object", i), fmt.Sprint(" ", changes)
			if i == 7 {
				want = fmt.Sprint(watching.Deleted, " ", changes+1)
			}
			if !strings.HasSuffix(last[name], want) {
				t.Errorf("%s was handled as %q last, want %q", name, last[name], want)
			}
		}
		if seen, _ := r.snapshot(); bodiless == 0 || len(seen) > objects*changes/10 {
			t.Errorf("%d events were handled, %d of which have waited without their bodies", len(seen), bodiless)
		}
		if n := reactortest.Held(qs.Account, accounts.Pending); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	})
}
