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

// TestReplacedDeclarationsGetNoNewAttempts: an author who may have one declaration deletes it and creates another one, all the time.
func TestReplacedDeclarationsGetNoNewAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		var fetches atomic.Int64
		x.fetch = func(context.Context, string) error {
			fetches.Add(1)
			return errors.New("no such module")
		}
		const seconds = 60
		for i := range 10 * seconds {
			d := Declaration{Key: key(fmt.Sprint("a", i%7)), UID: fmt.Sprint(i), Generation: 1, Spec: api.Spec{Module: "bad", ServiceAccountName: "sa"}}
			x.Declare(d)
			time.Sleep(time.Second / 20)
			x.Remove(d.Key)
			time.Sleep(time.Second / 20)
		}
		if n, most := fetches.Load(), int64(attemptsAtOnce+seconds/attemptPause.Seconds()); n > most {
			t.Errorf("%d attempts, want at most %d", n, most)
		}
		before := fetches.Load()
		x.Declare(Declaration{Key: Key{Kind: api.Namespaced, Namespace: "other", Name: "a"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "bad", ServiceAccountName: "sa"}})
		synctest.Wait()
		if fetches.Load() == before {
			t.Error("another namespace waits for it")
		}
	})
}

// TestReplacedDeclarationsGetNoNewRates: a declaration continues with what a removed one of its namespace has left, also while the
// operator of that one still stops. Others have their own, and what a removed one has used is forgotten in the end.
func TestReplacedDeclarationsGetNoNewRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.lingering = time.Minute }
		made := func(name string) operator.Options {
			x.declared(name, 1, nil)
			all := x.all()
			return all[len(all)-1].options
		}
		equal := func(a, b operator.Options) bool {
			return a.Host.Share == b.Host.Share && a.Host.Output == b.Host.Output && a.Limits == b.Limits && a.Calls.Rate == b.Calls.Rate && a.Calls.Egress == b.Calls.Egress
		}
		a, b := made("a"), made("b")
		if a.Host.Output == nil || a.Calls.Egress.Bucket == nil || a.Host.Share == b.Host.Share || a.Limits == b.Limits || a.Calls.Rate == b.Calls.Rate {
			t.Error("two declarations have one allowance")
		}
		x.Remove(key("a"))
		x.Remove(key("b"))
		x.declared("a", 2, nil) // it stops, and will run again
		if c := made("c"); !equal(c, b) {
			t.Error("the next declaration has a new allowance")
		}
		time.Sleep(2 * time.Minute)
		x.declared("a", 3, func(s *api.Spec) { s.Limits = map[string]string{"CallRate": "7"} })
		time.Sleep(2 * time.Minute)
		if all := x.all(); all[len(all)-1].options.Host.Share != a.Host.Share || all[len(all)-1].options.Calls.Rate.Bucket != a.Calls.Rate.Bucket {
			t.Error("a restart gives a new allowance")
		}
		x.Remove(key("a"))
		time.Sleep(forgetAfter + lookInterval)
		if d := made("d"); equal(d, a) {
			t.Error("the allowance is never forgotten")
		}
		if len(x.left) != 0 {
			t.Errorf("it is kept for ever: %v", x.left)
		}
	})
}

// TestFewRemovedOperatorsStop: operators that take long to stop do not pile up while their author replaces the declaration. Further ones
// wait; those of other namespaces do not.
func TestFewRemovedOperatorsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.lingering = 10 * time.Minute }
		replace := func(i int) {
			x.declared(fmt.Sprint("a", i), 1, nil)
			time.Sleep(3 * time.Second)
			x.Remove(key(fmt.Sprint("a", i)))
		}
		for i := range 100 {
			replace(i)
		}
		if n := len(x.all()); n > maxStopping {
			t.Errorf("%d operators run at the same time", n)
		}
		x.declared("last", 1, nil)
		x.has("last", api.Throttled, api.True, changeRate, "16 operators of removed declarations of the namespace still stop")
		x.has("last", api.Ready, api.False, "Loading", "")
		other := Declaration{Key: Key{Kind: api.Namespaced, Namespace: "other", Name: "a"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"}}
		x.Declare(other)
		synctest.Wait()
		if s := x.Status(other.Key); !s.Is(api.Ready) {
			t.Errorf("another namespace waits: %+v", s)
		}
		time.Sleep(11 * time.Minute)
		x.has("last", api.Ready, api.True, "Serving", "")
		x.has("last", api.Throttled, api.False, "None", "")
		if len(x.stopping) != 0 {
			t.Errorf("still counted: %v", x.stopping)
		}
	})
}
