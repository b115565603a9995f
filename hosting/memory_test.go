package hosting

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator"
)

// TestOperatorsShareTheMemory: all of them have one budget, which is the memory of the process without the part of the host. An operator
// for which there is no memory is tried again.
func TestOperatorsShareTheMemory(t *testing.T) {
	for memory, want := range map[int64]int64{64 << 30: 63 << 30, 4 << 30: 3 << 30, 512 << 20: 256 << 20} {
		if shared := New(Options{Memory: memory}).SharedMemory(); *shared != (facts.SharedMemory{Limit: want}) {
			t.Errorf("of %d MiB: %+v", memory>>20, shared)
		}
	}
	if shared := New(Options{}).SharedMemory(); shared != nil {
		t.Errorf("of an unknown size: %+v", shared)
	}
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.budget = operator.NewBudget(1 << 30)
		x.create = func(string) error {
			return &operator.BudgetError{Budget: 1 << 30, Held: 600 << 20, Left: 300 << 20, Wanted: 1 << 20}
		}
		x.declared("a", 1, nil)
		x.has("a", api.Degraded, api.True, "NoMemory", "those of the namespace have 600.0 of 1024.0 MiB, of which 300.0 are left, and 1.0 more were refused")
		x.mu.Lock()
		x.create = func(string) error { return nil }
		x.mu.Unlock()
		time.Sleep(2 * firstRetry)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.Declare(Declaration{Key: Key{Kind: api.Namespaced, Namespace: "other", Name: "b"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"}})
		synctest.Wait()
		all := x.all()
		if one, other := all[0].options.Tenant, all[1].options.Tenant; one == other || one.Budget != x.budget || other.Budget != x.budget {
			t.Error("the operators of two namespaces are no tenants of one budget")
		}
	})
}

// TestLimitsInSmallContainers: with the defaults, one operator ended a host that has less memory than they allow, as in the chart.
func TestLimitsInSmallContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		memory                              int64
		own                                 int
		instances, indices, bodies, patches int // in MiB
		compilers                           int
	}{
		"unknown":         {0, 0, 2048, 1024, 512, 256, 1024},
		"enough":          {64 << 30, 0, 2048, 1024, 512, 256, 1024},
		"half of it":      {4 << 30, 0, 1024, 512, 256, 128, 512},
		"a small one":     {512 << 20, 0, 128, 64, 32, 16, 256},
		"a tiny one":      {64 << 20, 0, 16, 8, 8, 8, 256},
		"a limit by hand": {512 << 20, 1000 << 20, 1000, 1000, 32, 16, 1000},
	} {
		base := operator.Options{Host: host.Options{InstanceMemory: tt.own, CompileMemory: tt.own, Held: accounts.Limits{IndexMemory: tt.own}}}
		got := New(Options{Memory: tt.memory, Base: base}).options.Base.Host
		for limit, sizes := range map[string][2]int{
			"InstanceMemory": {got.InstanceMemory, tt.instances}, "IndexMemory": {got.Held.IndexMemory, tt.indices},
			"CompileMemory": {got.CompileMemory, tt.compilers},
			"BodyMemory":    {got.Held.BodyMemory, tt.bodies}, "PatchMemory": {got.Held.PatchMemory, tt.patches},
		} {
			if sizes[0] != sizes[1]<<20 {
				t.Errorf("%s: %s is %d MiB, want %d", name, limit, sizes[0]>>20, sizes[1])
			}
		}
	}
}
