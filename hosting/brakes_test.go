package hosting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// TestLimitsThatHoldForAWhileAreReported: a burst is not, and the report ends some time after
// the last time.
func TestLimitsThatHoldForAWhileAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		time.Sleep(lookInterval / 2) // between two looks
		times := uint64(0)
		looks := func(n int, grows bool) {
			t.Helper()
			for range n {
				if grows {
					times++
				}
				x.all()[0].throttles.Store(&[]operator.Throttle{{Limit: "RequestRate", Times: times, Effect: "requests wait"}})
				time.Sleep(lookInterval)
			}
			synctest.Wait()
		}
		held := func() {
			t.Helper()
			x.has("a", api.Throttled, api.True, "RequestRate", "limit RequestRate: requests wait")
		}
		free := func() {
			t.Helper()
			x.has("a", api.Throttled, api.False, "None", "")
		}
		const minute = int(heldWithin / lookInterval)
		looks(2, true)
		free()
		looks(minute, false)
		looks(2, true)
		free()
		looks(1, true)
		held()
		looks(minute-1, false)
		held()
		looks(1, false)
		free()
		for range heldLooks { // an operator that rarely gets a processor reaches its limit as rarely
			free()
			looks(3, false)
			looks(1, true)
		}
		held()
		looks(minute, false)
		free()
		x.all()[0].throttles.Store(&[]operator.Throttle{{Limit: "LoopRate", Times: 1, Effect: "fn is called for things ns/a"}})
		time.Sleep(lookInterval)
		synctest.Wait()
		x.has("a", api.Throttled, api.True, "LoopRate", "fn is called for things ns/a")
		x.has("a", api.Ready, api.True, "Serving", "")
		x.all()[0].throttles.Store(nil)
		time.Sleep(lookInterval)
		synctest.Wait()
		x.has("a", api.Throttled, api.False, "None", "")
		x.declared("a", 2, func(s *api.Spec) { s.Suspend = true })
		x.has("a", api.Throttled, api.False, "None", "")
	})
}
