package host

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestLegibleErrors: names and texts of modules cannot forge lines of a log, control a terminal,
// or fill a disk.
func TestLegibleErrors(t *testing.T) {
	const odd = "a\nERROR: b\x1b[2J\u202e"
	long := strings.Repeat("n", 1<<20)
	imported := func(name string) asm.Module {
		g := asm.Guest(nil)
		g.Imports = []asm.Import{{Module: name, Name: name}}
		return g
	}
	registered := func(text string) asm.Module {
		g := asm.Guest(nil)
		g.Memory = []uint32{20}
		g.Data = append(g.Data, asm.Data{Offset: textAt, Bytes: text})
		return g.With(asm.Func{Export: "kopf_register", Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I64}, Code: asm.Text(textAt, text)})
	}
	named := func(name string) asm.Module {
		g := asm.Guest([]byte{0xff})
		g.Names = asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{asm.Cat([]byte{3}, asm.Name(name))})))
		return g
	}
	oddJSON := `a\nERROR: b\u001b[2J`
	for name, guest := range map[string]asm.Module{
		"import":                   imported(odd),
		"long import":              imported(long),
		"kind of a handler":        registered(`{"handlers":[{"kind":"` + oddJSON + `","id":"x"}]}`),
		"id of a handler":          registered(`{"handlers":[{"kind":"create","id":"` + oddJSON + `","odd":1}]}`),
		"long id of a handler":     registered(`{"handlers":[{"kind":"create","id":"` + long + `","odd":1}]}`),
		"option of a handler":      registered(`{"handlers":[{"kind":"create","id":"x","` + oddJSON + `":1}]}`),
		"refused configuration":    registered(`{"error":"` + oddJSON + `"}`),
		"long refusal":             registered(`{"error":"` + long + `"}`),
		"function of no known use": named(odd),
		"long name of a function":  named(long),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, guest.Encode(), Options{})
			if err == nil {
				t.Fatal("not refused")
			}
			text := err.Error()
			if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%q at %d", text[i:min(i+20, len(text))], i)
			}
			if len(text) > maxRefusal+200 {
				t.Errorf("%d bytes", len(text))
			}
		})
	}
}

// TestLegibleStacks: the same for names of functions in stack traces.
func TestLegibleStacks(t *testing.T) {
	for name, want := range map[string]string{
		"main.culprit":                 ".main.culprit(i32,i32,i32) i64",
		"a\nERROR: b\x1b[2J":           `.a\nERROR: b\u001b[2J(i32,i32,i32) i64`,
		strings.Repeat("n", 1<<20):     "." + strings.Repeat("n", 500) + "… (1048076 bytes more)(i32,i32,i32) i64",
		strings.Repeat("ä", 300):       "." + strings.Repeat("ä", 250) + "… (100 bytes more)(i32,i32,i32) i64",
		"x" + strings.Repeat("ä", 300): ".x" + strings.Repeat("ä", 249) + "… (102 bytes more)(i32,i32,i32) i64",
	} {
		g := asm.Guest(asm.Unreachable)
		g.Names = asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{asm.Cat([]byte{3}, asm.Name(name))})))
		m, err := load(t, g.Encode(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = m.Start(t.Context(), invoke(""), nil, &testEnv{})
		var guest *GuestError
		if !errors.As(err, &guest) || guest.Stack != want {
			t.Errorf("stack %.600q, want %.600q", guest.Stack, want)
		}
	}
}
