package prepare

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

func TestEntryFunctions(t *testing.T) {
	i32, i64 := []byte{asm.I32}, []byte{asm.I64}
	m := asm.Module{
		Memory: []uint32{1},
		Funcs: []asm.Func{
			{Export: "nothing"},
			{Export: "negative", Results: i32, Code: asm.I32Const(-1)},
			{Export: "long", Params: i64},
			{Export: "difference", Params: []byte{asm.I32, asm.I32}, Results: i32, Code: asm.Cat(asm.Get(0), asm.Get(1), asm.I32Sub)},
			{Export: "third", Params: []byte{asm.I32, asm.I32, asm.I32}, Results: i32, Code: asm.Get(2)},
			{Export: "four", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}},
			{Export: "large", Results: i64, Code: asm.I64Const(math.MinInt64)},
			{Export: "two", Results: []byte{asm.I32, asm.I32}, Code: asm.Cat(asm.I32Const(1), asm.I32Const(2))},
			{Export: "trap", Code: asm.Unreachable},
			{Export: "real", Results: []byte{asm.F64}, Code: asm.Cat([]byte{0x44}, make([]byte, 8))},
		},
	}
	s, err := Parse(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"nothing", "negative", "difference", "third", "large", "trap"}
	if diff := cmp.Diff(names, s.Entries()); diff != "" {
		t.Fatalf("entries: %s", diff)
	}
	r := newRunner(t, false)
	if err := r.prepared(m.Encode()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0, math.MaxUint32, 3, 5, 1 << 63} {
		if got := r.call(Enter, uint64(i), 7, 4, 5); len(got.Results) != 1 || got.Results[0] != want {
			t.Errorf("%s gives %v, trap %q; want %d", names[i], got.Results, got.Trap, want)
		}
	}
	for _, number := range []uint64{5, 6, math.MaxUint32} {
		if got := r.call(Enter, number, 7, 4, 5); got.Trap == "" {
			t.Errorf("%d gives %v", number, got.Results)
		}
	}
}

// TestManyExportsHaveNoEntries: modules with very many exports have no entries.
func TestManyExportsHaveNoEntries(t *testing.T) {
	for _, n := range []int{maxEntries, maxEntries + 1} {
		m := asm.Module{Memory: []uint32{1}}
		for i := range n {
			m.Funcs = append(m.Funcs, asm.Func{Export: fmt.Sprint("f", i)})
		}
		s, err := Parse(m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		want := n
		if n > maxEntries {
			want = 0
		}
		if got := len(s.Entries()); got != want {
			t.Errorf("%d exports: %d entries", n, got)
		}
		r := newRunner(t, false)
		if err := r.prepared(m.Encode()); err != nil {
			t.Error(err)
		}
	}
}
