package hosting

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// TestChangesWithoutAnEnd: an author who changes a declaration all the time causes a bounded
// number of attempts, and is named. The newest version is tried in the end.
func TestChangesWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		var fetches atomic.Int64
		x.fetch = func(_ context.Context, module string) error {
			fetches.Add(1)
			if module == "good" {
				return nil
			}
			return errors.New("no such module")
		}
		const seconds = 60
		for i := range int64(100 * seconds) {
			d := Declaration{Key: key("a"), UID: "u", Generation: 1, Retry: fmt.Sprint(i), Spec: api.Spec{Module: "bad", ServiceAccountName: "sa"}}
			x.Declare(d)
			time.Sleep(time.Second / 100)
		}
		if n, most := fetches.Load(), int64(attemptsAtOnce+seconds/attemptPause.Seconds()); n > most || n < most/2 {
			t.Errorf("%d attempts, want at most %d", n, most)
		}
		x.has("a", api.Throttled, api.True, changeRate, "the declaration changes or is replaced too often")
		x.declared("a", 2, func(s *api.Spec) { s.Module = "good" })
		time.Sleep(time.Minute)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Throttled, api.False, "None", "")
	})
}

// TestANewObjectGetsAStatus: also if the host has not noticed that the old one was removed.
func TestANewObjectGetsAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		d := x.declared("a", 1, nil)
		count := func() (serving int) {
			x.mu.Lock()
			defer x.mu.Unlock()
			for _, report := range x.reports {
				if report == "a: Serving" {
					serving++
				}
			}
			return serving
		}
		before := count()
		x.Remove(d.Key)
		d.UID = "another"
		x.Declare(d)
		synctest.Wait()
		time.Sleep(time.Minute)
		if after := count(); after == before {
			t.Errorf("no new status: %v", x.reports)
		}
	})
}

// TestTenantsDoNotWaitForEachOther: modules of one namespace that take compilers for ever leave
// room for those of another one.
func TestTenantsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		end := make(chan struct{})
		x.create = func(module string) error {
			if module == "bomb" {
				<-end
			}
			return nil
		}
		for i := range 100 {
			x.declared(fmt.Sprint("bomb", i), 1, func(s *api.Spec) { s.Module = "bomb" })
		}
		other := Declaration{Key: Key{Kind: api.Namespaced, Namespace: "other", Name: "a"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"}}
		x.Declare(other)
		synctest.Wait()
		if s := x.Status(other.Key); s == nil || !s.Is(api.Ready) {
			t.Errorf("it waits: %+v", s)
		}
		close(end)
	})
}
