//go:build figures

package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// sliceFigures: how long machine code runs between two returns to the host, in the
// worst case of many slices of code that tries to.
func sliceFigures(t *testing.T, f *figures, _ map[string][]byte) {
	attacks := asm.Attacks()
	for range *figureRounds {
		for _, name := range slices.Sorted(maps.Keys(attacks)) {
			f.add("machine code without a return, "+name+", at most", "ms", 5, micros(longestSlice(t, attacks[name]))/1e3)
		}
	}
}

// slicesMeasured is enough for attacks that prepare their memory first.
const slicesMeasured = 700

// longestSlice runs a module for some slices, as an instance does.
func longestSlice(t *testing.T, m asm.Module) (longest time.Duration) {
	t.Helper()
	source, err := prepare.Parse(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.Prepare(prepare.Limits{MemoryPages: 4096})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := linear.Reserve(int(p.MinPages)*wasmPage, 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(
		func(uint64, uint64) experimental.LinearMemory { return memory }))
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	var last time.Time
	n, enough := 0, errors.New("enough")
	yield := func() int64 {
		longest = max(longest, time.Since(last))
		if n++; n == slicesMeasured {
			panic(enough)
		}
		last = time.Now()
		return prepare.Budget
	}
	if _, err := rt.NewHostModuleBuilder(prepare.HostModule).NewFunctionBuilder().WithFunc(yield).Export(prepare.Yield).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.Instantiate(ctx, p.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	last = time.Now()
	if _, err := mod.ExportedFunction("f").Call(ctx); !errors.Is(err, enough) {
		t.Fatal("it ended: ", err)
	}
	return longest
}
