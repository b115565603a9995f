package prepare

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestHostMemoryOfModules: what the engine keeps for each instance is bounded, too. A few
// bytes of a module can ask for a lot of it.
func TestHostMemoryOfModules(t *testing.T) {
	segment := func(n int) []byte { return asm.Cat([]byte{1, 0}, asm.U32(uint32(n)), make([]byte, n)) } // passive
	zero := asm.Cat([]byte{asm.I32, 0}, asm.I32Const(0), asm.End)
	table := func(n uint32) []byte { return asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(n)) }
	repeat := func(n int, item []byte) (all [][]byte) {
		for range n {
			all = append(all, item)
		}
		return all
	}
	for _, test := range []struct {
		name   string
		change func(m *asm.Module)
		want   string // empty: it is not refused
	}{
		{"globals", func(m *asm.Module) { m.Globals = repeat(maxGlobals, zero) }, ""},
		{"too many globals", func(m *asm.Module) { m.Globals = repeat(maxGlobals+1, zero) }, "10001 globals; at most 10000"},
		{"too many imports", func(m *asm.Module) {
			m.Imports = make([]asm.Import, maxImports+1)
		}, "1001 imports; at most 1000"},
		{"references", func(m *asm.Module) { m.Elements = [][]byte{segment(maxReferences - 1)} }, ""},
		{"too many references", func(m *asm.Module) { m.Elements = [][]byte{segment(maxReferences)} }, "more than 262144 references"},
		{"too many references in all", func(m *asm.Module) { m.Elements = repeat(2, segment(maxReferences/2)) }, "more than 262144 references"},
		{"too many empty segments", func(m *asm.Module) { m.Elements = repeat(maxReferences+1, segment(0)) }, "more than 262144 references"},
		{"tables", func(m *asm.Module) { m.Tables = repeat(4, table(maxElements/4)) }, ""},
		{"too large tables", func(m *asm.Module) { m.Tables = repeat(4, table(maxElements/4+1)) }, "table 0 has 262145 elements; at most 262144"},
		{"data segments that are not used", func(m *asm.Module) { m.Passive = make([][]byte, maxSegments+1) }, ""},
		{"too many data segments", func(m *asm.Module) {
			m.Passive, m.DataCount = make([][]byte, maxSegments+1), true
			m.Funcs[0].Code = asm.Cat(asm.Bulk(9, 0), asm.I32Const(0)) // data.drop
		}, "data segments; at most 65536"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := program(asm.I32Const(0))
			test.change(&m)
			_, err := prepared(m.Encode())
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// TestTablesShareTheirLimit also when they grow.
func TestTablesShareTheirLimit(t *testing.T) {
	grow := asm.Cat([]byte{0xd0, asm.FuncRef}, asm.Get(0), asm.Bulk(15, 1)) // ref.null, table.grow of the second table
	m := program(grow)
	m.Tables = [][]byte{{asm.FuncRef, 0, 0}, {asm.FuncRef, 0, 0}}
	for n, want := range map[uint64]uint64{maxElements / 2: 0, maxElements/2 + 1: 1<<32 - 1} {
		if _, got := both(t, m, "f", n, 0, 0); len(got.Results) != 1 || got.Results[0] != want {
			t.Errorf("growing by %d: %v %s", n, got.Results, got.Trap)
		}
	}
}

// TestOverheadOfInstances: tables count as large as they can grow, and so do passive segments and globals. What was saved says the same.
func TestOverheadOfInstances(t *testing.T) {
	table := func(n uint32) [][]byte { return [][]byte{asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(n))} }
	grow := asm.Func{Code: asm.Cat([]byte{0xd0, asm.FuncRef}, asm.I32Const(1), asm.Bulk(15, 0), asm.Drop)}
	overhead := func(change func(m *asm.Module)) int {
		t.Helper()
		m := program(asm.I32Const(0))
		change(&m)
		s, err := Parse(m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepare(testLimits)
		if err != nil {
			t.Fatal(err)
		}
		restored, err := s.Restore(p.Save("a"), "a", testLimits)
		if err != nil || restored.Overhead != p.Overhead {
			t.Errorf("restored: %d, want %d; error %v", restored.Overhead, p.Overhead, err)
		}
		return p.Overhead
	}
	nothing := overhead(func(*asm.Module) {})
	for _, test := range []struct {
		name   string
		change func(m *asm.Module)
		want   int
	}{
		{"a table", func(m *asm.Module) { m.Tables = table(1000) }, 8000},
		{"one that can grow", func(m *asm.Module) { m.Tables, m.Funcs = table(1000), append(m.Funcs, grow) }, 8 * maxElements},
		{"a passive segment", func(m *asm.Module) {
			m.Elements = [][]byte{asm.Cat([]byte{1, 0}, asm.U32(100), make([]byte, 100))}
		}, 24 + 800 + 4000},
		{"a declared one", func(m *asm.Module) {
			m.Elements = [][]byte{asm.Cat([]byte{3, 0}, asm.U32(100), make([]byte, 100))}
		}, 24 + 800},
		{"references in code", func(m *asm.Module) {
			m.Elements = [][]byte{asm.Cat([]byte{3, 0}, asm.U32(1), make([]byte, 1))}
			m.Funcs = append(m.Funcs, asm.Func{Code: asm.Repeat(100, 0xd2, 0, asm.Drop[0])})
		}, 24 + 8 + 64 + 40},
		{"an active one", func(m *asm.Module) {
			m.Tables, m.Elements = table(1000), [][]byte{asm.Cat([]byte{0}, asm.I32Const(0), asm.End, asm.U32(100), make([]byte, 100))}
		}, 8000 + 24 + 4000},
		{"globals", func(m *asm.Module) {
			m.Globals = append(m.Globals, asm.Cat([]byte{asm.I32, 0}, asm.I32Const(0), asm.End))
		}, 64},
	} {
		if got := overhead(test.change) - nothing; got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}
