package host

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
)

// Modules with equal code share a machine until the last one is closed. Nothing of one is
// closed with another one.
func TestModulesWithEqualCodeShareAMachine(t *testing.T) {
	o := Options{CacheDir: t.TempDir()}
	load := func(o Options) *Module {
		t.Helper()
		m, err := Load(t.Context(), "op.wasm", asm.Guest(nil).Encode(), o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	smaller := o
	smaller.MaxMemory = 16 << 20
	a, b, c := load(o), load(o), load(smaller)
	if a.machine != b.machine {
		t.Error("equal modules have two machines")
	}
	if a.machine == c.machine {
		t.Error("modules with different limits of memory share a machine")
	}
	for _, m := range []*Module{a, c, b} {
		result(t, b, "", &testEnv{})
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	machines.mu.Lock()
	defer machines.mu.Unlock()
	for key := range machines.items {
		if key.folder == o.CacheDir {
			t.Error("a machine outlives its modules")
		}
	}
}

// A module that is refused after its first instance was made leaves nothing in the machine
// of another one.
func TestRefusedModulesLeaveNoInstance(t *testing.T) {
	wasm := asm.Guest(nil).Encode()
	o := withCache(t, Options{NoClones: true})
	m := loaded(t, "op.wasm", wasm, o)
	declared, err := declaration.Embed(wasm, &declaration.Declaration{Version: 1, Registration: []byte(`{"handlers":[{"kind":"create","id":"other","resource":{"args":["pods"]}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	o.Memories = linear.NewPool(1 << 30)
	if _, err := Load(t.Context(), "declared.wasm", declared, o); !errors.Is(err, ErrModule) {
		t.Errorf("got %v, want a mismatch", err)
	}
	if used := o.Memories.Used(); used != 0 {
		t.Errorf("%d bytes of instances are left", used)
	}
	result(t, m, "", &testEnv{})
}

// While one machine is built, others are built and shared, and waiters for the same one get it.
func TestSlowMachinesDelayNoOthers(t *testing.T) {
	set := machineSet{items: map[machineKey]*sharedMachine{}}
	slow, quick := machineKey{folder: "slow"}, machineKey{folder: "quick"}
	begun, end := make(chan struct{}), make(chan struct{})
	errBuild := errors.New("boo")
	failed, second := make(chan error, 1), make(chan *machine, 1)
	go func() { // Waited for below.
		_, err := set.take(slow, func() (*machine, error) {
			close(begun)
			<-end
			return nil, errBuild
		})
		failed <- err
	}()
	<-begun
	go func() { // Waited for below.
		m, _ := set.take(slow, func() (*machine, error) { return &machine{}, nil })
		second <- m
	}()
	for range 2 {
		if m, err := set.take(quick, func() (*machine, error) { return &machine{}, nil }); err != nil || m.key != quick {
			t.Errorf("got %v, %v", m, err)
		}
	}
	if err := set.give(t.Context(), set.items[quick].machine, nil); err != nil || set.items[quick].users != 1 {
		t.Errorf("%v, %d users", err, set.items[quick].users)
	}
	close(end)
	if err := <-failed; !errors.Is(err, errBuild) {
		t.Errorf("got %v", err)
	}
	if m := <-second; m == nil || m.key != slow {
		t.Errorf("the next one got %v", m)
	}
}
