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

// TestOperatorsOfANamespaceHaveOneTenant: what they may take of the memory of the process is that of all of them.
func TestOperatorsOfANamespaceHaveOneTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.declared("b", 1, nil)
		x.Declare(Declaration{Key: Key{Kind: api.Cluster, Name: "c"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountNamespace: "ns", ServiceAccountName: "sa"}})
		synctest.Wait()
		x.Declare(Declaration{Key: Key{Kind: api.Namespaced, Namespace: "other", Name: "d"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"}})
		synctest.Wait()
		all := x.all()
		if len(all) != 4 {
			t.Fatalf("%d operators were made", len(all))
		}
		for i, same := range []bool{true, true, true, false} {
			if (all[i].options.Tenant == all[0].options.Tenant) != same || all[i].options.Tenant == nil {
				t.Errorf("operator %d: the same tenant: %t", i, !same)
			}
		}
	})
}
