package hosting

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// TestStatusesAreFew: equal declarations and looks at a working operator report nothing.
// Problems of streams are reported when they last.
func TestStatusesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		before := len(x.reports)
		for range 10 {
			x.declared("a", 1, nil)
		}
		time.Sleep(time.Hour)
		if len(x.reports) != before || before > 3 {
			t.Errorf("reports %v", x.reports)
		}
		x.all()[0].problems.Store(&[]string{"things: forbidden"})
		time.Sleep(time.Minute)
		x.has("a", api.Degraded, api.True, "NotWatching", "things: forbidden")
		x.all()[0].problems.Store(nil)
		time.Sleep(time.Minute)
		x.has("a", api.Degraded, api.False, "Working", "")
		if len(x.reports) != before+2 {
			t.Errorf("reports %v", x.reports[before:])
		}
	})
}

// TestRefusedObjects: an operator that may not list its objects is not ready, and says so within a second; it is ready soon after it
// may. Until the objects are listed, it is not ready, either.
func TestRefusedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.problems.Store(&[]string{"things: listing"}) }
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "Loading", "the operator lists its objects")
		x.all()[0].problems.Store(&[]string{"things: listing, after: refused"})
		time.Sleep(time.Second)
		x.has("a", api.Ready, api.False, "NotWatching", "changes of objects do not arrive: things: listing, after: refused")
		x.has("a", api.Degraded, api.True, "NotWatching", "refused")
		x.all()[0].problems.Store(nil)
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Degraded, api.False, "Working", "")
		x.all()[0].problems.Store(&[]string{"things: lost"})
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.True, "Serving", "")
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.False, "NotWatching", "changes of objects do not arrive: things: lost")
	})
}

// TestUnservedResources: an operator without the resource of a handler is degraded. It is not ready if there is no resource at all.
func TestUnservedResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) {
			f.unaware.Store(true)
			f.unserved.Store(&[]string{"Unresolved resources cannot be served: things"})
		}
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "ResourcesUnserved", "Unresolved resources cannot be served: things")
		x.has("a", api.Degraded, api.True, "ResourcesUnserved", "things")
		x.all()[0].unaware.Store(false)
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.True, "ResourcesUnserved", "things")
		x.has("a", api.Degraded, api.True, "ResourcesUnserved", "things")
		x.all()[0].unserved.Store(nil)
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Degraded, api.False, "Working", "")
		x.all()[0].unpatched.Store(&[]string{"cannot patch things"})
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.False, "NotPatching", "the account needs the verb patch: cannot patch things")
		x.has("a", api.Degraded, api.True, "NotPatching", "things")
		x.all()[0].unpatched.Store(nil)
		time.Sleep(lookInterval + time.Millisecond)
		x.has("a", api.Ready, api.True, "Serving", "")
	})
}

// TestRollbacks: after an attempt for another version, the status is about the version that runs again.
func TestRollbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.all()[0].reload = func() error { return errors.New("it cannot start") }
		x.declared("a", 2, func(s *api.Spec) { s.Module = "v2" })
		x.has("a", api.Resolved, api.True, "Fetched", "v2@digest")
		x.has("a", api.Degraded, api.True, "LoadFailed", "an earlier version continues")
		x.declared("a", 3, nil)
		x.has("a", api.Resolved, api.True, "Fetched", "v1@digest")
		x.has("a", api.Ready, api.True, "Serving", "")
	})
}

// TestOperatorsThatWatchNothing: an operator without resources is ready at once, if its handlers need none, and else when they are listed.
func TestOperatorsThatWatchNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.unaware.Store(true) }
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "Loading", "the operator lists its objects")
		x.all()[0].unaware.Store(false)
		time.Sleep(time.Second)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.setUp = func(f *fake) { f.unaware.Store(true); f.webhooks = 1 }
		x.declared("b", 1, nil)
		x.has("b", api.Ready, api.True, "Serving", "")
		x.setUp = func(f *fake) { f.unaware.Store(true) }
		x.declared("c", 1, func(s *api.Spec) { s.Scope = &api.Scope{Namespaces: []string{"none"}} })
		time.Sleep(2 * lookInterval)
		x.has("c", api.Ready, api.True, "NoNamespaces", "no namespace matches spec.scope")
	})
}
