package queueing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
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
		before := heaptest.InUse()
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
		if more := heaptest.InUse() - before; more > 4*limit {
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

// TestObjectsThatVanishBeforeTheirTurnAreDropped checks that objects which are created and
// deleted while all slots are held, and without room for their bodies, leave no entry. Those
// that exist, and deletions of objects that were listed, are handled.
func TestObjectsThatVanishBeforeTheirTurnAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		r := &recorder{work: func(context.Context, Item, *Queue) string { <-busy; return "" }}
		qs := testQueues(r)
		qs.every = true
		qs.Account = accounts.New(accounts.Limits{PendingMemory: 1})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range maxSlots {
			qs.Put(ctx, event(fmt.Sprint("busy", i), 1, watching.Added))
		}
		qs.Put(ctx, event("listed", 1, watching.Listed))
		qs.Put(ctx, event("listed", 2, watching.Deleted))
		for i := range 10_000 {
			name := fmt.Sprint("short", i)
			qs.Put(ctx, event(name, 1, watching.Added))
			qs.Put(ctx, event(name, 2, watching.Modified))
			if i%100 == 0 {
				qs.Put(ctx, event(fmt.Sprint("long", i), 1, watching.Added))
			}
			qs.Put(ctx, event(name, 3, watching.Deleted))
		}
		if n, entries := size(qs), len(qs.ready); n != maxSlots+1+100 || entries > 2*101+1 {
			t.Errorf("%d objects are kept, %d entries of ready ones", n, entries)
		}
		close(busy)
		time.Sleep(time.Minute)
		if n := size(qs); n != 0 || qs.gone != 0 || len(qs.ready) != 0 || len(qs.beginning.line) != 0 {
			t.Errorf("%d objects, %d that have vanished, %d ready ones, %d places are left", n, qs.gone, len(qs.ready), len(qs.beginning.line))
		}
		if seen, _ := r.snapshot(); len(seen) != maxSlots+2+100 {
			t.Errorf("%d events were handled", len(seen))
		}
		qs.Drain(cancel, time.Second)
	})
}

// TestObjectsWithBodiesAreSeenEvenIfTheyVanish checks that nothing is dropped while there is
// room: handlers of raw events see the creation and the deletion.
func TestObjectsWithBodiesAreSeenEvenIfTheyVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		r := &recorder{work: func(context.Context, Item, *Queue) string { <-busy; return "" }}
		qs := testQueues(r)
		qs.every, qs.limit = true, 1
		qs.Account = accounts.New(accounts.Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		qs.Put(ctx, event("busy", 1, watching.Added))
		qs.Put(ctx, event("short", 1, watching.Added))
		qs.Put(ctx, event("short", 2, watching.Deleted))
		close(busy)
		time.Sleep(time.Minute)
		if seen, _ := r.snapshot(); !slices.Equal(seen, []string{"busy/1", "short/1", "short/2"}) {
			t.Errorf("handled: %v", seen)
		}
		qs.Drain(cancel, time.Second)
	})
}

// TestChangesAreNotLostInOtherItems: an item that is no event can be dropped, or be hidden from handlers of raw events.
func TestChangesAreNotLostInOtherItems(t *testing.T) {
	for name, it := range map[string]Item{"shown again": {Again: true}, "gained": {Gained: 1}, "lost": {Lost: true}} {
		t.Run(name, func(t *testing.T) {
			it.Type, it.Bodiless = watching.Listed, true
			q := Alone(it)
			q.add(Item{Event: watching.Event{Type: watching.Modified, Object: []byte("{}")}}, true)
			if len(q.pending) != 2 {
				t.Errorf("%d items wait: the change has gone into another one", len(q.pending))
			}
		})
	}
}
