package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// minimalWaiter is a guest that waits and cannot be resumed.
func minimalWaiter() []byte { return answering(`{"step":"wait"}`).Encode() }

// three are the parameters of kopf_start.
var three = []byte{asm.I32, asm.I32, asm.I32}

// textAt is where it lies: behind the messages of the host.
const textAt = 1 << 16

// answering is a guest whose kopf_start gives this text.
func answering(text string) asm.Module {
	g := asm.Guest(nil)
	g.Memory = []uint32{2 + uint32(len(text)>>16)}
	g.Data = append(g.Data, asm.Data{Offset: textAt, Bytes: text})
	return g.With(asm.Func{Export: "kopf_start", Params: three, Results: []byte{asm.I64}, Code: asm.Text(textAt, text)})
}

// loop repeats code for ever.
func loop(code ...[]byte) []byte { return asm.Cat(asm.Loop, asm.Cat(code...), asm.Br(0), asm.End) }

func TestHostileCode(t *testing.T) {
	const first = asm.FirstMore
	i32, big := asm.I32Const, asm.I32Const(64<<20)
	table := func(g asm.Module) asm.Module {
		g.Tables = [][]byte{asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(1<<20))}
		g.Elements = [][]byte{{1, 0, 0}} // a passive one, empty
		return g
	}
	memory := func(g asm.Module) asm.Module {
		g.Memory = []uint32{1025}
		return g
	}
	passive := func(g asm.Module) asm.Module {
		g.DataCount, g.Passive = true, [][]byte{make([]byte, 65<<20)}
		return memory(g)
	}
	null := []byte{0xd0, asm.FuncRef}
	neighbour := loadSmall(t)
	for _, test := range []struct {
		name  string
		guest asm.Module
		want  error
	}{
		{"loop", asm.Guest(loop()), ErrCompute},
		{"loop with calls", asm.Guest(loop(asm.Call(first)), asm.Func{}), ErrCompute},
		{"loop of loads", memory(asm.Guest(loop(asm.Repeat(1000, asm.Cat(asm.Get(3), i32(4099*64), asm.I32Add, i32(1<<26-1), asm.I32And, asm.Tee(3), asm.I32Load(), asm.Drop)...)), asm.Func{})), nil},
		{"exponential calls", asm.Guest(asm.Call(first), tree(first, 60)...), ErrCompute},
		{"exponential calls of loops", asm.Guest(asm.Call(first), looped(tree(first, 60))...), ErrCompute},
		{"recursion in a loop", asm.Guest(asm.Call(first), looped([]asm.Func{{Code: asm.Call(first)}})...), ErrTrap},
		{"recursion", asm.Guest(asm.Call(first), asm.Func{Code: asm.Call(first)}), ErrTrap},
		{"mutual recursion", asm.Guest(asm.Call(first), asm.Func{Code: asm.Call(first + 1)}, asm.Func{Code: asm.Call(first)}), ErrTrap},
		{"recursion with a result", asm.Guest(asm.Cat(asm.Call(first), asm.Drop), asm.Func{Results: []byte{asm.I32}, Code: asm.Cat(asm.Call(first), i32(1), asm.I32Add)}), ErrTrap},
		{"memory.grow by pages", asm.Guest(loop(i32(1), asm.MemoryGrow, asm.Drop)), ErrCompute},
		{"memory.grow by nothing", asm.Guest(loop(i32(0), asm.MemoryGrow, asm.Drop)), ErrCompute},
		{"memory.grow and touch", asm.Guest(asm.Cat(i32(4000), asm.MemoryGrow, asm.Drop, loop(asm.Get(0), i32(0), asm.I32Store(), asm.Get(0), i32(4096), asm.I32Add, i32(1<<27-1), asm.I32And, asm.Set(0)))), ErrCompute},
		{"table.grow", table(asm.Guest(loop(null, i32(1), asm.Bulk(15, 0), asm.Drop))), ErrCompute},
		{"memory.fill", memory(asm.Guest(loop(i32(0), i32(1), big, asm.MemoryFill))), ErrCompute},
		{"memory.copy", memory(asm.Guest(loop(i32(0), i32(65536), big, asm.MemoryCopy))), ErrCompute},
		{"memory.copy upwards", memory(asm.Guest(loop(i32(65536), i32(0), big, asm.MemoryCopy))), ErrCompute},
		{"memory.init", passive(asm.Guest(loop(i32(0), i32(0), i32(64<<20+1), asm.Bulk(8, 2, 0)))), ErrCompute},
		{"table.fill", table(asm.Guest(loop(i32(0), null, i32(1<<20), asm.Bulk(17, 0)))), ErrCompute},
		{"table.copy", table(asm.Guest(loop(i32(0), i32(1), i32(1<<20-1), asm.Bulk(14, 0, 0)))), ErrCompute},
		{"table.init", table(asm.Guest(loop(i32(0), i32(0), i32(0), asm.Bulk(12, 0, 0)))), ErrCompute},
		{"unreachable", asm.Guest(asm.Unreachable), ErrTrap},
		{"division by zero", asm.Guest(asm.Cat(i32(1), i32(0), []byte{0x6d}, asm.Drop)), ErrTrap},
		{"load outside", asm.Guest(asm.Cat(i32(-4), asm.I32Load(), asm.Drop)), ErrTrap},
		{"fill outside", asm.Guest(asm.Cat(i32(0), i32(0), big, asm.MemoryFill)), ErrTrap},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raceDetector && test.name == "memory.init" {
				t.Skip("the race detector takes more memory than the compiler may have")
			}
			limit := 50 * time.Millisecond
			if errors.Is(test.want, ErrTrap) {
				limit = time.Minute
			}
			withNeighbour(t, neighbour, func() {
				m, err := load(t, test.guest.Encode(), Options{ComputeLimit: limit})
				if test.want == nil { // only that it does not harm
					if err == nil {
						t.Error("not refused")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{}); !errors.Is(err, test.want) || !errors.Is(err, abi.ErrGuest) {
					t.Errorf("error = %v", err)
				}
			})
			if errors.Is(test.want, ErrCompute) {
				spinsWithNeighbour(t, test.guest.Encode(), neighbour)
			}
		})
	}
}

// spinsWithNeighbour shows that a guest that never gives back control does not disturb other guests, and that its caller can stop
// it. The guest has a long limit: if it blocked the process, the test would fail.
func spinsWithNeighbour(t *testing.T, guest []byte, neighbour *Module) {
	t.Helper()
	m, err := load(t, guest, Options{ComputeLimit: time.Minute, StopGrace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() { // waited for below
		_, _, err := m.Start(ctx, invoke(""), nil, &testEnv{})
		failed <- err
	}()
	var meanwhile rounds
	for range enoughRounds {
		meanwhile = append(meanwhile, round(t, neighbour))
	}
	t.Log("without an end:", meanwhile)
	cancel(enough)
	if err := <-failed; !errors.Is(err, enough) {
		t.Errorf("the guest was not stopped by its caller: %v", err)
	}
}

// tree is a chain of functions, each of which calls the next one twice.
func tree(first uint32, depth int) []asm.Func {
	var all []asm.Func
	for i := range depth {
		all = append(all, asm.Func{Code: asm.Cat(asm.Call(first+uint32(i)+1), asm.Call(first+uint32(i)+1))})
	}
	return append(all, asm.Func{})
}

// looped makes each function a loop of one turn, as compilers of Go do.
func looped(all []asm.Func) []asm.Func {
	for i := range all {
		all[i].Code = asm.Cat(asm.Loop, all[i].Code, asm.End)
	}
	return all
}

func TestHostileExports(t *testing.T) {
	neighbour := loadSmall(t)
	two := []byte{asm.I32, asm.I32}
	for _, test := range []struct {
		name  string
		guest asm.Module
		want  string
	}{
		{"start function that traps", func() asm.Module {
			g := asm.Guest(nil, asm.Func{Code: asm.Unreachable})
			g.Start = asm.FirstMore
			return g
		}(), "kopf:start: trapped: unreachable"},
		{"start function that spins", func() asm.Module {
			g := asm.Guest(nil, asm.Func{Code: loop()})
			g.Start = asm.FirstMore
			return g
		}(), "kopf:start: computed too long"},
		{"_initialize that traps", asm.Guest(nil).With(asm.Func{Export: "_initialize", Code: asm.Unreachable}), "_initialize: trapped: unreachable"},
		{"_initialize that spins", asm.Guest(nil).With(asm.Func{Export: "_initialize", Code: loop()}), "_initialize: computed too long"},
		{"allocator that traps", asm.Guest(nil).With(asm.Func{Export: "kopf_alloc", Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.Unreachable}), "kopf_register: trapped: unreachable"},
		{"allocator that gives nothing", asm.Guest(nil).With(asm.Func{Export: "kopf_alloc", Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.I32Const(0)}), "kopf_register: out of memory: no memory for a message of"},
		{"allocator that points outside", asm.Guest(nil).With(asm.Func{Export: "kopf_alloc", Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.I32Const(65530)}), "kopf_alloc returned an address outside of the memory"},
		{"allocator that points far outside", asm.Guest(nil).With(asm.Func{Export: "kopf_alloc", Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.I32Const(-1)}), "outside of the memory"},
		{"registration that traps", asm.Guest(nil).With(asm.Func{Export: "kopf_register", Params: two, Results: []byte{asm.I64}, Code: asm.Unreachable}), "kopf_register: trapped: unreachable"},
		{"registration outside", asm.Guest(nil).With(asm.Func{Export: "kopf_register", Params: two, Results: []byte{asm.I64}, Code: asm.I64Const(-1)}), "kopf_register: broken message: it has 4294967295 bytes"},
		{"registration that is nothing", asm.Guest(nil).With(asm.Func{Export: "kopf_register", Params: two, Results: []byte{asm.I64}, Code: asm.I64Const(0)}), "unexpected end of JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withNeighbour(t, neighbour, func() {
				_, err := load(t, test.guest.Encode(), Options{ComputeLimit: 100 * time.Millisecond})
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error = %v, want %q", err, test.want)
				}
			})
		})
	}
}

func TestTrapsInEveryExport(t *testing.T) {
	neighbour := loadSmall(t)
	trap := func(export string, params, results []byte) asm.Module {
		step := `{"step":"wait"}`
		if export == "kopf_transform" {
			step = `{"step":"done","transforms":1}`
		}
		return answering(step).
			With(asm.Func{Export: "kopf_resume", Params: three, Results: []byte{asm.I64}, Code: asm.Text(textAt, `{"step":"wait"}`)}).
			With(asm.Func{Export: "kopf_cancel", Params: []byte{asm.I32}}).
			With(asm.Func{Export: export, Params: params, Results: results, Code: asm.Unreachable})
	}
	i64, i32 := []byte{asm.I64}, []byte{asm.I32}
	for _, test := range []struct {
		export string
		guest  asm.Module
		use    func(*Task) error
	}{
		{"kopf_resume", trap("kopf_resume", three, i64), func(task *Task) error {
			_, err := task.Resume(t.Context(), abi.Answer{})
			return err
		}},
		{"kopf_cancel", trap("kopf_cancel", i32, nil), func(task *Task) error { return task.Cancel(t.Context()) }},
		{"kopf_transform", trap("kopf_transform", three, i64), func(task *Task) error {
			_, err := task.Transform(t.Context(), []byte(`{}`))
			return err
		}},
		{"kopf_ask", trap("kopf_ask", three, i64), func(task *Task) error {
			_, err := task.Ask(t.Context(), &abi.Questions{}, nil, &testEnv{})
			return err
		}},
	} {
		t.Run(test.export, func(t *testing.T) {
			withNeighbour(t, neighbour, func() {
				m, err := load(t, test.guest.Encode(), Options{})
				if err != nil {
					t.Fatal(err)
				}
				task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
				if err != nil {
					t.Fatal(err)
				}
				defer task.Release(t.Context())
				if err := test.use(task); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), test.export+": trapped: unreachable") {
					t.Errorf("error = %v", err)
				}
				if _, _, err := task.Start(t.Context(), invoke(""), nil, &testEnv{}); !errors.Is(err, abi.ErrInstanceLost) {
					t.Errorf("error = %v", err)
				}
			})
		})
	}
}

func TestReleaseThatTraps(t *testing.T) {
	withNeighbour(t, loadSmall(t), func() { releaseThatTraps(t) })
}

func releaseThatTraps(t *testing.T) {
	t.Helper()
	g := answering(`{"step":"done","transforms":1}`).
		With(asm.Func{Export: "kopf_release", Params: []byte{asm.I32}, Code: asm.Unreachable})
	m, err := load(t, g.Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	if len(m.pool.idle) != 0 || len(m.pool.living) != 0 {
		t.Error("the instance lives on")
	}
}

func TestBrokenSteps(t *testing.T) {
	neighbour := loadSmall(t)
	for _, test := range []struct{ name, text, want string }{
		{"nothing", ``, "unexpected end of JSON"},
		{"no JSON", `step: done`, "invalid character"},
		{"two values", `{"step":"done"}{}`, "after top-level value"},
		{"not UTF-8", "{\"step\":\"done\",\"result\":\"\xff\"}", "not UTF-8"},
		{"too deep", `{"step":"done","result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "exceeded max depth"},
		{"no step", `{}`, `unknown step ""`},
		{"unknown step", `{"step":"dance"}`, `unknown step "dance"`},
		{"negative wait", `{"step":"wait","seconds":-1}`, "a wait of -1 seconds"},
		{"wait for text", `{"step":"wait","seconds":"1"}`, "cannot unmarshal string"},
		{"endless wait", `{"step":"wait","seconds":1e999}`, "cannot unmarshal number"},
		{"call without a call", `{"step":"call"}`, "without a call"},
		{"call that begins and continues", `{"step":"call","call":{"target":"http","method":"GET","path":"/"},"continue":true}`, "with one and continue"},
		{"negative wait for a response", `{"step":"call","continue":true,"seconds":-1}`, "a wait of -1 seconds"},
		{"patch is a list", `{"step":"done","patch":[]}`, "a patch that is not an object"},
		{"negative transforms", `{"step":"done","transforms":-1}`, "-1 transforms"},
		{"unknown error", `{"step":"done","error":{"kind":"odd"}}`, `unknown kind of an error: "odd"`},
		{"bad child", `{"step":"execute","children":[{"kind":"sub","id":"a","x":1}]}`, `child sub handler "a": unknown option x`},
	} {
		t.Run(test.name, func(t *testing.T) {
			withNeighbour(t, neighbour, func() {
				m, err := load(t, answering(test.text).Encode(), Options{})
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = m.Start(t.Context(), invoke(""), nil, &testEnv{})
				if !errors.Is(err, ErrMessage) || !errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error = %v, want %q", err, test.want)
				}
			})
		})
	}
}

func TestMessageLimit(t *testing.T) {
	text := fmt.Sprintf(`{"step":"done","result":"%s"}`, strings.Repeat("x", 1000))
	neighbour := loadSmall(t)
	for limit, fails := range map[int]bool{len(text): false, len(text) - 1: true} {
		withNeighbour(t, neighbour, func() {
			m, err := load(t, answering(text).Encode(), Options{MessageLimit: limit})
			if err != nil {
				t.Fatal(err)
			}
			task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
			if task != nil {
				task.Release(t.Context())
			}
			if got := errors.Is(err, ErrMessage); got != fails {
				t.Errorf("limit %d of %d bytes: %v", limit, len(text), err)
			}
		})
	}
}

func TestHugeModules(t *testing.T) {
	neighbour := loadSmall(t)
	t.Run("50,000 functions", func(t *testing.T) {
		if testing.Short() {
			t.Skip("compiles for seconds")
		}
		withNeighbour(t, neighbour, func() {
			m, err := load(t, asm.Guest(nil, make([]asm.Func, 50_000)...).Encode(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			result(t, m, "", &testEnv{})
		})
	})
	for _, test := range []struct {
		name  string
		guest asm.Module
		want  string
	}{
		{"a body of 5 MB", asm.Guest(asm.Repeat(5<<20, 0x01)), "too long: straight code"},
		{"nested ifs over 100 locals", asm.Guest(nil, nestedIfs(40_000, 100)), "too complex"},
		{"a megabyte of loops", asm.Guest(nil, asm.Func{Code: asm.Repeat(200_000, asm.Cat(asm.Loop, asm.I32Const(0), asm.BrIf(0), asm.End)...)}), "too complex"},
		{"a type of a million parameters", asm.Guest(nil, asm.Func{Params: asm.Repeat(1_000_000, asm.I32)}), "a type with 1000000 parameters or results; at most 256"},
		{"many types", manyTypes(45_000), "types; at most 10000"},
		{"many types and functions", manyTypes(9_000, make([]asm.Func, 190_000)...), "too complex"},
		{"a million locals", asm.Guest(nil, asm.Func{Locals: asm.Repeat(1_000_000, asm.I32)}), "1000000 locals; at most 50000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withNeighbour(t, neighbour, func() {
				_, err := load(t, test.guest.Encode(), Options{})
				if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error = %v, want %q", err, test.want)
				}
			})
		})
	}
}

// TestOverlap: a key, a value and an output in one place are what they are. The guest
// sets a memo whose value is its own key, reads it over that, and answers with a message
// that lies in the output.
func TestOverlap(t *testing.T) {
	const at, size = textAt, 6
	set := asm.Import{Module: abi.ImportModule, Name: abi.ImportMemoSet, Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32, asm.I32, asm.I32, asm.I64}, Results: []byte{asm.I64}}
	get := asm.Import{Module: abi.ImportModule, Name: abi.ImportMemoGet, Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I64}}
	i32 := asm.I32Const
	g := answering(`"same" {"step":"done"}`).With(asm.Func{
		Export: "kopf_start", Params: three, Results: []byte{asm.I64},
		Code: asm.Cat(
			asm.Get(0), i32(0), i32(at), i32(size), i32(at), i32(size), asm.I64Const(-1), asm.Call(0), asm.Drop,
			asm.Get(0), i32(0), i32(at), i32(size), i32(at-8), i32(14), asm.Call(1), asm.Drop,
			asm.Text(at+7, `{"step":"done"}`)),
	})
	g.Imports = []asm.Import{set, get}
	m, err := load(t, g.Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &testEnv{}
	result(t, m, "", env)
	if got := string(env.memo[`"same"`]); got != `"same"` {
		t.Errorf("memo = %q", env.memo)
	}
}

// tableChanger is a guest with an instruction that a clone could not follow.
func tableChanger() asm.Module {
	g := asm.Guest(asm.Cat(asm.I32Const(0), []byte{0xd0, asm.FuncRef, 0x26, 0})) // ref.null, table.set
	g.Tables = [][]byte{{asm.FuncRef, 0, 1}}
	return g
}

// nestedIfs is a function that sets one of its locals in each of many nested blocks.
func nestedIfs(n, locals int) asm.Func {
	var code []byte
	for i := range n {
		code = append(code, asm.Cat(asm.Get(uint32(i%locals)), asm.If, asm.I32Const(int32(i)), asm.Set(uint32(i*7%locals)))...)
	}
	return asm.Func{Locals: asm.Repeat(locals, asm.I32), Code: append(code, asm.Repeat(n, 0x0b)...)}
}

// manyTypes is a guest with so many functions, each of a type of its own, behind others.
func manyTypes(n int, all ...asm.Func) asm.Module {
	for i := range n {
		var params []byte
		for bits := i + 1; bits > 0; bits /= 4 {
			params = append(params, asm.I32-byte(bits%4))
		}
		all = append(all, asm.Func{Params: params})
	}
	return asm.Guest(nil, all...)
}
