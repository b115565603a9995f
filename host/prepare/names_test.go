package prepare

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// names is a name section with these functions.
func names(all ...string) []byte {
	var items [][]byte
	for i, name := range all {
		items = append(items, asm.Cat(asm.U32(uint32(i)), asm.Name(name)))
	}
	return asm.Cat([]byte{1}, asm.Sized(asm.Vector(items)))
}

// trapping is a module whose function f calls trap.
func trapping(section []byte) asm.Module {
	m := program(asm.Cat(asm.Get(0), asm.Call(1), asm.I32Const(0)), asm.Func{Params: []byte{asm.I32}, Code: asm.Unreachable})
	m.Names = section
	return m
}

// trace is the stack of a prepared module that traps.
func trace(t *testing.T, m asm.Module) string {
	t.Helper()
	r := newRunner(t, false)
	if err := r.prepared(m.Encode()); err != nil {
		t.Fatal(err)
	}
	_, err := r.mod.ExportedFunction("f").Call(context.Background(), 1, 2, 3)
	if err == nil {
		t.Fatal("no trap")
	}
	return err.Error()
}

func TestTracesShowTheRightNames(t *testing.T) {
	got := trace(t, trapping(names("outer", "culprit")))
	if !strings.Contains(got, "\t.culprit(i32)\n\t.outer(i32,i32,i32)") {
		t.Errorf("trace:\n%s", got)
	}
}

func TestTracesShowHelpers(t *testing.T) {
	m := program(asm.Cat(asm.I32Const(-1), asm.I32Const(0), asm.I32Const(8), asm.MemoryFill, asm.I32Const(0)))
	m.Names = names("outer")
	if got := trace(t, m); !strings.Contains(got, "\t.memory.fill(i32,i32,i32)\n\t.outer(") {
		t.Errorf("trace:\n%s", got)
	}
}

func TestNameSectionsThatLie(t *testing.T) {
	many := make([]string, 100)
	for _, test := range []struct {
		name    string
		section []byte
	}{
		{"more functions than there are", names(many...)},
		{"descending", asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{{1, 1, 'b'}, {0, 1, 'a'}})))},
		{"twice", asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{{1, 1, 'b'}, {1, 1, 'a'}})))},
		{"not UTF-8", asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{{0, 1, 0xff}})))},
		{"cut", names("outer", "culprit")[:6]},
		{"huge count", asm.Cat([]byte{1}, asm.Sized(asm.U32(1<<32-1)))},
		{"huge size", asm.Cat([]byte{1}, asm.U32(1<<32-1))},
		{"empty", []byte{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := trace(t, trapping(test.section)); !strings.Contains(got, "unreachable") {
				t.Errorf("trace:\n%s", got)
			}
		})
	}
}
