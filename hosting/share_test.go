package hosting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
)

// TestRestartsGiveNoNewComputingTime: all runs of a declaration have one share of the processors, and each
// declaration has its own.
func TestRestartsGiveNoNewComputingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Limits = map[string]string{"ComputeRate": "10s"} })
		x.declared("b", 1, nil)
		all := x.all()
		if len(all) != 3 {
			t.Fatalf("%d operators were made", len(all))
		}
		if rate := all[0].options.Host.ComputeRate; rate != DefaultComputeRate {
			t.Errorf("the default is %v", rate)
		}
		if rate := all[1].options.Host.ComputeRate; rate != 10*time.Second {
			t.Errorf("the declared rate is %v", rate)
		}
		if all[0].options.Host.Share != all[1].options.Host.Share || all[0].options.Host.Share == all[2].options.Host.Share {
			t.Error("shares belong to runs, or to several declarations")
		}
		x.declared("b", 2, func(s *api.Spec) { s.Limits = map[string]string{"ComputeRate": "61s"} })
		x.has("b", api.Accepted, api.False, "InvalidSpec", "spec.limits: limit ComputeRate: 1m1s is above the maximum 1m0s of the host")
	})
}
