package hosting

import (
	"testing"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator"
)

// TestLimitsInSmallContainers: with the defaults, one operator ended a host that has less memory than they allow, as in the chart.
func TestLimitsInSmallContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		memory                              int64
		own                                 int
		instances, indices, bodies, patches int // in MiB
	}{
		"unknown":         {0, 0, 2048, 1024, 512, 256},
		"enough":          {64 << 30, 0, 2048, 1024, 512, 256},
		"half of it":      {4 << 30, 0, 1024, 512, 256, 128},
		"a small one":     {512 << 20, 0, 128, 64, 32, 16},
		"a tiny one":      {64 << 20, 0, 16, 8, 8, 8},
		"a limit by hand": {512 << 20, 1000 << 20, 1000, 1000, 32, 16},
	} {
		base := operator.Options{Host: host.Options{InstanceMemory: tt.own, Held: accounts.Limits{IndexMemory: tt.own}}}
		got := New(Options{Memory: tt.memory, Base: base}).options.Base.Host
		for limit, sizes := range map[string][2]int{
			"InstanceMemory": {got.InstanceMemory, tt.instances}, "IndexMemory": {got.Held.IndexMemory, tt.indices},
			"BodyMemory": {got.Held.BodyMemory, tt.bodies}, "PatchMemory": {got.Held.PatchMemory, tt.patches},
		} {
			if sizes[0] != sizes[1]<<20 {
				t.Errorf("%s: %s is %d MiB, want %d", name, limit, sizes[0]>>20, sizes[1])
			}
		}
	}
}
