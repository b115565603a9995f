package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestInstanceMemoryBoundsAllInstances: many instances, each of which keeps to MaxMemory, do not
// take more together. A call without room is not the guest's fault; instances that end make room.
func TestInstanceMemoryBoundsAllInstances(t *testing.T) {
	t.Parallel()
	const instances = 4
	m, err := load(t, minimalWaiter(), Options{InstanceMemory: instances * 2 * wasmPage, MaxIdle: 1, RetireCalls: 1}) // of two pages each
	if err != nil {
		t.Fatal(err)
	}
	tasks := startDaemons(t, m, instances)
	_, _, err = m.Start(t.Context(), daemon("wait"), nil, &testEnv{})
	if !errors.Is(err, abi.ErrNoRoom) || errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), "--limit InstanceMemory=SIZE") {
		t.Errorf("one more: %v", err)
	}
	if u := m.Usage(); u.Memory != instances*2*wasmPage || m.options.Memories.Refused() != 1 {
		t.Errorf("%d bytes, %d refusals", u.Memory, m.options.Memories.Refused())
	}
	tasks[0].Release(t.Context())
	startDaemons(t, m, 1)
}

// TestInstanceMemoryBoundsGrowth: a guest sees that its memory does not grow.
func TestInstanceMemoryBoundsGrowth(t *testing.T) {
	t.Parallel()
	grow := asm.Cat(asm.I32Const(2), asm.MemoryGrow, asm.I32Const(-1), []byte{0x46}, asm.If, asm.Unreachable, asm.End)
	for limit, trapped := range map[int]bool{3 * wasmPage: false, 2 * wasmPage: true} {
		m, err := load(t, asm.Guest(grow).Encode(), Options{InstanceMemory: limit})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{}); errors.Is(err, ErrTrap) != trapped {
			t.Errorf("%d bytes: %v", limit, err)
		}
	}
}

// TestInstanceMemoryCountsTables: the engine keeps a table in the memory of the host, for each instance.
func TestInstanceMemoryCountsTables(t *testing.T) {
	t.Parallel()
	const elements = 1 << 18 // of 8 bytes
	g := asm.Guest(nil)
	g.Tables = [][]byte{asm.Cat([]byte{asm.FuncRef, 0}, asm.U32(elements))}
	for limit, refused := range map[int]bool{4 << 20: false, 1 << 20: true} {
		m, err := load(t, g.Encode(), Options{InstanceMemory: limit})
		if errors.Is(err, abi.ErrNoRoom) != refused || refused != (err != nil) {
			t.Fatalf("%d bytes: %v", limit, err)
		}
		if refused {
			continue
		}
		task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		defer task.Release(t.Context())
		if used, want := m.options.Memories.Used(), int64(wasmPage+8*elements-usualOverhead); used != want {
			t.Errorf("%d bytes are used, want %d", used, want)
		}
	}
}

// TestInstanceMemoryBoundsPlugins: what they have in the memory of the host counts as if it were in theirs, until the call ends.
func TestInstanceMemoryBoundsPlugins(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	work := asm.Cat(asm.I64Const(size), asm.Call(fnAlloc), asm.Drop, outputOf(asm.Done), asm.I32Const(0))
	for limit, refused := range map[int]bool{2 * size: false, size: true} {
		m, err := load(t, pluginModule(work).Encode(), Options{InstanceMemory: limit, MaxIdle: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
			if errors.Is(err, ErrMemory) != refused || refused != (err != nil) {
				t.Errorf("%d bytes: %v", limit, err)
			}
			if err == nil {
				task.Release(t.Context())
			}
			if used, own := m.options.Memories.Used(), m.Usage().Memory; used != own {
				t.Errorf("%d bytes are used after the call, of memories of %d", used, own)
			}
		}
	}
}
