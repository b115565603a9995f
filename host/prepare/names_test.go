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

func TestWrongNameSections(t *testing.T) {
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

// TestOddNames: names that would forge lines of a trace are escaped, as all texts are, and long ones are clipped.
func TestOddNames(t *testing.T) {
	for name, want := range map[string]string{
		"größe<T>::new":                      "größe<T>::new",
		"a\n\t.forged()":                     `a\n\t.forged()`,
		"\x1b[2J\u202e\u200b":                `\u001b[2J\u202e\u200b`,
		"back\\slash":                        `back\slash`,
		strings.Repeat("n", maxName):         strings.Repeat("n", maxName),
		strings.Repeat("n", maxName+1):       strings.Repeat("n", maxName) + "… (1 bytes more)",
		strings.Repeat("ß", maxName/2) + "ß": strings.Repeat("ß", maxName/2) + "… (2 bytes more)",
	} {
		if got := trace(t, trapping(names("outer", name))); !strings.Contains(got, "\t."+want+"(i32)\n\t.outer(i32,i32,i32)") {
			t.Errorf("%q: trace:\n%q", name, got)
		}
		if got := shown(name); got != want {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}

// TestManyOddNames: when escapes have taken all that they may, names become no longer than they are.
func TestManyOddNames(t *testing.T) {
	odd := strings.Repeat("\x01", 400)
	m := trapping(nil)
	all := []string{"outer", "culprit"}
	for range 100 {
		m.Funcs, all = append(m.Funcs, asm.Func{Code: asm.Unreachable}), append(all, odd)
	}
	m.Funcs[1].Code, m.Names = asm.Call(101), names(all...)
	m.Funcs[1].Params = []byte{asm.I32}
	got := trace(t, m)
	if !strings.Contains(got, "\t."+strings.Repeat("?", 400)+"()\n\t.culprit(i32)\n\t.outer(i32,i32,i32)") {
		t.Errorf("trace:\n%q", got)
	}
}
