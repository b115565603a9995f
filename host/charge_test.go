package host

import (
	"errors"
	"strconv"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// ofTenant returns options of an operator of a tenant.
func ofTenant(o Options, t *accounts.Tenant) Options {
	o.Memories = NewMemoryPool(0)
	o.Memories.Of(accounts.NewCharge(t))
	return o
}

// TestModulesAreCharged: an operator is charged for the machine code of a module, and for the snapshot of its memory, or else for its file,
// while the module is loaded, and for its instances.
func TestModulesAreCharged(t *testing.T) {
	tenant := &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}
	wasm := minimalWaiter()
	for name, o := range map[string]Options{"compiled": withCache(t, Options{}), "compiled in memory": {CacheDir: CacheOff}} {
		for _, again := range []bool{false, true} {
			m, err := Load(t.Context(), "op.wasm", wasm, ofTenant(o, tenant))
			if err != nil {
				t.Fatal(err)
			}
			idle := tenant.Memory()
			image := int64(0)
			if s := m.snapshot.Load(); s != nil {
				image = s.charged
			}
			instances := m.options.Memories.Used()
			if want := m.charged.file + m.charged.registration + m.machine.size + image + instances; idle != want || m.machine.size < int64(len(wasm)) || m.charged.file > 0 && image > 0 {
				t.Errorf("%s, again: %t: %d bytes, want %d; the machine code has %d", name, again, idle, want, m.machine.size)
			}
			startDaemons(t, m, 3)
			if more := tenant.Memory() - idle; more != m.options.Memories.Used()-instances || more < 2*wasmPage {
				t.Errorf("%s: %d bytes for instances", name, more)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := tenant.Memory(); left != 0 {
				t.Errorf("%s: %d bytes are left", name, left)
			}
		}
	}
}

// TestReplacedSnapshotsAreNotCharged: an instance that has seen keys of the configuration that the module does not want is replaced.
func TestReplacedSnapshotsAreNotCharged(t *testing.T) {
	tenant := &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}
	m, err := Load(t.Context(), "op.wasm", guestBytes(t), ofTenant(withCache(t, Options{Config: registers(`"register","document"`)}), tenant))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := tenant.Memory(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestSharedMachineCodeIsChargedOnce: to the operator whose module uses it for longest.
func TestSharedMachineCodeIsChargedOnce(t *testing.T) {
	budget := accounts.NewBudget(1 << 30)
	o, tenants, modules := withCache(t, Options{}), [3]*accounts.Tenant{}, [3]*Module{}
	for i := range modules {
		tenants[i] = &accounts.Tenant{Budget: budget}
		var err error
		if modules[i], err = Load(t.Context(), "op.wasm", minimalWaiter(), ofTenant(o, tenants[i])); err != nil {
			t.Fatal(err)
		}
	}
	code := modules[0].machine.size
	if tenants[0].Memory() != tenants[1].Memory()+code || tenants[1].Memory() != tenants[2].Memory() {
		t.Errorf("%d, %d and %d bytes, of which the machine code has %d", tenants[0].Memory(), tenants[1].Memory(), tenants[2].Memory(), code)
	}
	own := tenants[2].Memory()
	for i, want := range [][3]int64{{own + code, own, 0}, {0, own + code, 0}, {0, 0, 0}} {
		if err := modules[[]int{2, 0, 1}[i]].Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := [3]int64{tenants[0].Memory(), tenants[1].Memory(), tenants[2].Memory()}; got != want {
			t.Errorf("after %d have ended: %v bytes, want %v", i+1, got, want)
		}
	}
}

// TestModulesWithoutMemory: a module for which a tenant has no memory is no mistake of the module, and takes nothing.
func TestModulesWithoutMemory(t *testing.T) {
	wasm := minimalWaiter()
	o := withCache(t, Options{})
	whole := &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}
	m, err := Load(t.Context(), "op.wasm", wasm, ofTenant(o, whole))
	if err != nil {
		t.Fatal(err)
	}
	need := whole.Memory()
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []int64{1, int64(len(wasm)), need / 2, need - wasmPage} { // of the file, of the machine code, of the instance
		tenant := &accounts.Tenant{Budget: accounts.NewBudget(part + part/2)}
		_, err := Load(t.Context(), "op.wasm", wasm, ofTenant(o, tenant))
		var scarce *accounts.BudgetError
		if !errors.As(err, &scarce) || !errors.Is(err, abi.ErrNoRoom) || errors.Is(err, ErrModule) {
			t.Errorf("%d bytes: got %v", part, err)
		}
		if left := tenant.Memory(); left != 0 {
			t.Errorf("%d bytes: %d are left", part, left)
		}
	}
}

// TestGrowthWithinABudget: a guest sees that its memory does not grow.
func TestGrowthWithinABudget(t *testing.T) {
	grow := asm.Cat(asm.I32Const(100), asm.MemoryGrow, asm.I32Const(-1), []byte{0x46}, asm.If, asm.Unreachable, asm.End)
	for size, trapped := range map[int64]bool{1 << 30: false, 300 << 10: true} {
		m, err := load(t, asm.Guest(grow).Encode(), ofTenant(Options{}, &accounts.Tenant{Budget: accounts.NewBudget(size)}))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{}); errors.Is(err, ErrTrap) != trapped {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestRegistrationsWithoutMemory: the error of a guest whose memory does not grow at its registration says that others have it, whether the
// guest traps or answers an error of its own, and whatever it says about memory.
func TestRegistrationsWithoutMemory(t *testing.T) {
	const refusal = `{"error":"no array of that length"}`
	grow := asm.Cat(asm.I32Const(100), asm.MemoryGrow)
	fails := asm.Cat(asm.I32Const(-1), []byte{0x46}, asm.If)
	for name, code := range map[string][]byte{
		"traps":           asm.Cat(grow, fails, asm.Unreachable, asm.End, asm.Text(16, asm.Registration)),
		"answers":         asm.Cat(grow, asm.Drop, asm.Text(1024, refusal)),
		"did not need it": asm.Cat(grow, asm.Drop, asm.Text(16, asm.Registration)),
	} {
		guest := asm.Guest(nil).With(asm.Func{Export: abi.ExportRegister, Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I64}, Code: code})
		guest.Data = append(guest.Data, asm.Data{Offset: 1024, Bytes: refusal})
		for size, want := range map[int64]bool{1 << 30: false, 300 << 10: name != "did not need it"} {
			tenant := &accounts.Tenant{Budget: accounts.NewBudget(size)}
			_, err := load(t, guest.Encode(), ofTenant(Options{}, tenant))
			var scarce *accounts.BudgetError
			if errors.As(err, &scarce) != want {
				t.Errorf("%s, %d bytes: %v", name, size, err)
			}
			if left := tenant.Memory(); err != nil && left != 0 {
				t.Errorf("%s, %d bytes: %d are left", name, size, left)
			}
		}
	}
}

// TestDeclarationsAreChargedInFull: the engine keeps many times as much of them as the module has, and the host does of the registration.
func TestDeclarationsAreChargedInFull(t *testing.T) {
	types, functions, exports, elements := asm.Guest(nil), asm.Guest(nil), asm.Guest(nil), asm.Guest(nil)
	for i := range 2000 {
		params := asm.Repeat(256, asm.F64)
		for bit := range 11 {
			if i>>bit&1 == 1 {
				params[bit] = asm.I32
			}
		}
		types.Funcs = append(types.Funcs, asm.Func{Params: params})
	}
	var names, references [][]byte
	for i := range 20_000 {
		functions.Funcs = append(functions.Funcs, asm.Func{})
		names = append(names, asm.Cat(asm.U32(uint32(i)), asm.Name("n")))
		exports.Exports = append(exports.Exports[:min(i, 10_000)], asm.Cat(asm.Name(strconv.Itoa(i)), []byte{0, 0}))
		references = append(references, asm.U32(1))
	}
	functions.Names = asm.Section(1, asm.Vector(names))
	elements.Tables = [][]byte{asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(20_000))}
	elements.Elements = [][]byte{asm.Cat([]byte{0}, asm.I32Const(0), []byte{0x0b}, asm.Vector(references))}
	o := withCache(t, Options{})
	for name, guest := range map[string]asm.Module{"types": types, "functions": functions, "exports": exports, "elements": elements} {
		wasm, tenant := guest.Encode(), &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}
		for range 2 { // what the first one leaves in the cache is no part of the second one
			before := int64(boundedtest.InUse())
			m, err := Load(t.Context(), "op.wasm", wasm, ofTenant(o, tenant))
			if err != nil {
				t.Fatal(err)
			}
			taken, charged := int64(boundedtest.InUse())-before, tenant.Memory()-m.codeSize
			if charged < taken || charged > 3*taken+64<<10 {
				t.Errorf("%s: %d bytes are charged for %d", name, charged, taken)
			}
			if want := registration.Size(m.registered, m.registration); m.charged.registration != want {
				t.Errorf("%s: %d bytes are charged for the registration, want %d", name, m.charged.registration, want)
			}
			if err := m.Close(t.Context()); err != nil || tenant.Memory() != 0 {
				t.Errorf("%s: %v, %d bytes are left", name, err, tenant.Memory())
			}
		}
	}
}

// TestInstancesAreChargedInFull: the engine keeps references to functions for each instance, which elements name. Those that code makes
// again and again are there once.
func TestInstancesAreChargedInFull(t *testing.T) {
	const count, instances = 1000, 10
	table := [][]byte{asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(count))}
	segments := func(kind ...byte) (all [][]byte) {
		for range 100 {
			all = append(all, asm.Cat(kind, asm.U32(count), asm.Repeat(count, 1)))
		}
		return all
	}
	active := append([]byte{0}, append(asm.I32Const(0), asm.End...)...)
	const local = 3
	again := asm.Cat(asm.Loop, []byte{0xd2, 1}, asm.Drop, asm.Get(local), asm.I32Const(1), asm.I32Add, asm.Tee(local), asm.I32Const(100_000), []byte{0x48}, asm.BrIf(0), asm.End)
	for name, change := range map[string]func(g *asm.Module){
		"active elements":  func(g *asm.Module) { g.Tables, g.Elements = table, segments(active...) },
		"passive elements": func(g *asm.Module) { g.Tables, g.Elements = table, segments(1, 0) },
		"references in code": func(g *asm.Module) {
			g.Tables = table
			start := &g.Funcs[len(g.Funcs)-1]
			start.Locals, start.Code = []byte{asm.I32}, asm.Cat(again, start.Code)
		},
	} {
		t.Run(name, func(t *testing.T) {
			guest := answering(`{"step":"wait"}`)
			change(&guest)
			m, err := Load(t.Context(), "op.wasm", guest.Encode(), ofTenant(withCache(t, Options{SharedTasks: 1}), &accounts.Tenant{Budget: accounts.NewBudget(1 << 30)}))
			if err != nil {
				t.Fatal(err)
			}
			startDaemons(t, m, 1)
			heap, used := int64(boundedtest.InUse()), m.options.Memories.Used()
			startDaemons(t, m, instances)
			taken, charged := (int64(boundedtest.InUse())-heap)/instances, (m.options.Memories.Used()-used)/instances
			if taken > charged+usualOverhead {
				t.Errorf("an instance is charged %d bytes, and takes %d", charged, taken)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
