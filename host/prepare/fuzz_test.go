package prepare

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// FuzzSameBehaviour compares generated programs before and after.
func FuzzSameBehaviour(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed, uint32(seed*7), uint32(3))
	}
	f.Fuzz(func(t *testing.T, seed int64, a, b uint32) {
		wasm := generated(seed).Encode()
		before, after := newRunner(t, false), newRunner(t, false)
		after.max = 200
		if err := before.original(wasm); err != nil {
			t.Fatalf("the generated program is invalid: %v", err)
		}
		if err := after.prepared(wasm); err != nil {
			t.Fatalf("prepared: %v", err)
		}
		got := after.call("f", uint64(a), uint64(b))
		if got.yields > after.max {
			t.Skip("it takes too long")
		}
		want := before.call("f", uint64(a), uint64(b))
		if diff := cmp.Diff(want.Results, got.Results); diff != "" || want.Trap != got.Trap {
			t.Errorf("results %s, trap %q instead of %q", diff, got.Trap, want.Trap)
		}
		if want.Memory != got.Memory {
			t.Error("the memories differ")
		}
	})
}

// FuzzPrepare feeds bytes that may be anything. What is valid must stay valid.
func FuzzPrepare(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	for seed := range int64(10) {
		f.Add(generated(seed).Encode())
	}
	for _, m := range asm.Attacks() {
		f.Add(m.Encode())
	}
	f.Add(trapping(names("outer", "culprit")).Encode())
	f.Fuzz(func(t *testing.T, bin []byte) {
		start := time.Now()
		p, err := prepared(bin)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if err != nil || len(bin) > 10_000 {
			return
		}
		ctx := context.Background()
		rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(testLimits.MemoryPages))
		defer rt.Close(ctx)
		if _, err := rt.CompileModule(ctx, withoutCustomSections(bin)); err != nil {
			return
		}
		if _, err := rt.CompileModule(ctx, p.Wasm); err != nil {
			t.Errorf("a valid module became invalid: %v", err)
		}
		if _, err := rt.CompileModule(ctx, p.Shell); err != nil {
			t.Errorf("its shell is invalid: %v", err)
		}
	})
}

// withoutCustomSections removes what may be broken in a module that is valid otherwise.
func withoutCustomSections(bin []byte) []byte {
	out := []byte(wasm.Magic)
	_ = wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID != wasm.SectionCustom {
			out = append(out, bin[s.Begin:s.End]...)
		}
		r.Pos = s.End
		return nil
	})
	return out
}
