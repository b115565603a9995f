package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// newInstance returns an instance that create has to prepare.
func (m *Module) newInstance() *instance {
	in := &instance{m: m, guest: m.newGuest(), busy: make(chan struct{}, 1), tasks: map[uint32]*Task{}}
	in.clock.Epoch = m.options.Surrounded || m.options.Clock != nil // a simulated clock may be before the start of the process
	for i, to := range m.streams {
		in.streams[i] = output.NewLines(to, m.output, m.options.Memories)
	}
	return in
}

// create prepares the instance for tasks: as a clone of the snapshot, or from the beginning
// if there is no snapshot yet. The first instance takes the snapshot, if that is possible.
func (in *instance) create(ctx context.Context) error {
	if in.dead != nil { // Close was faster
		return fmt.Errorf("%s: instance: %w", in.m.name, in.dead)
	}
	for s := in.m.snapshot.Load(); s != nil; s = in.m.snapshot.Load() {
		if err := in.clone(ctx, s); !errors.Is(err, linear.ErrClosed) { // Keep has another one
			return err
		}
	}
	ctx, cancel := in.withTimeout(ctx)
	defer cancel()
	memory, err := linear.Reserve(int(in.m.prepared.MinPages)*wasmPage, in.m.options.MaxMemory)
	if err != nil {
		return in.m.noMemory(err)
	}
	if err := in.instantiate(ctx, memory); err != nil {
		return err
	}
	if err := in.initialize(ctx); err != nil {
		return in.scarce(err)
	}
	return in.m.takeSnapshot(in)
}

// scarce adds the reason to the error of an instance that could not register: it got no memory, as other operators have it. Guests
// know only that they got none, and some do not say even that.
func (in *instance) scarce(err error) error {
	if refusal := in.memory.Refusal(); refusal != nil {
		return fmt.Errorf("%w: %w", err, refusal)
	}
	return err
}

// withTimeout ends a context after RegisterTimeout. Waits for a core do not count: other operators,
// which want all of them, must not let the registration fail.
func (in *instance) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := in.m.options.RegisterTimeout
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { // Not waited for: it ends with the context.
		for left, counted := timeout, time.Duration(0); left > 0; {
			select {
			case <-time.After(left):
			case <-ctx.Done():
				return
			}
			queued := in.queued.total()
			left, counted = queued-counted, queued
		}
		cancel(fmt.Errorf("registration took longer than %v: %w", timeout, context.DeadlineExceeded))
	}()
	return ctx, func() { cancel(nil) }
}

// noMemory is the error of a module or of an instance for which there is no memory.
func (m *Module) noMemory(err error) error {
	switch {
	case errors.Is(err, linear.ErrMappings), errors.Is(err, accounts.ErrLimit):
		err = fmt.Errorf("%w: %w", abi.ErrNoRoom, err)
	case errors.Is(err, linear.ErrPool):
		err = fmt.Errorf("%w: %w: let fewer handlers run at the same time, or raise the limit with --limit InstanceMemory=SIZE", abi.ErrNoRoom, err)
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// usualOverhead is what an engine keeps for an instance besides its memory, in bytes, without taking anything of Options.InstanceMemory.
const usualOverhead = 64 << 10

// instantiate creates the instance on a memory, which the instance then owns.
func (in *instance) instantiate(ctx context.Context, memory *linear.Memory) error {
	allocate := func(uint64, uint64) experimental.LinearMemory { return memory }
	in.memory = memory
	memory.CountIn(&in.m.memory)
	if err := memory.Within(in.m.options.Memories, max(0, in.m.prepared.Overhead-usualOverhead)); err != nil {
		memory.Free()
		return in.m.noMemory(err)
	}
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate))
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(noRandom{})
	var err error
	if in.mod, err = in.m.machine.runtime.InstantiateModule(ctx, in.m.machine.compiled, config); err != nil {
		memory.Free()
		return fmt.Errorf("%s: instance: %w", in.m.name, err)
	}
	return nil
}

// noRandom replaces the engine's source of random numbers, which is unused: see call.Random.
// The default source would take 5 KB for each instance.
type noRandom struct{}

func (noRandom) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// close frees the instance. The caller ensures that no call runs or begins.
func (in *instance) close() {
	in.m.pool.stacks.revoke(in)
	for i := range in.streams {
		in.streams[i].End()
	}
	if holds, ok := in.guest.(interface{ Free() }); ok { // memory of the host
		holds.Free()
	}
	if in.mod != nil {
		// An error has no consequence, because the instance is discarded.
		_ = in.mod.Close(context.Background()) //nolint:forbidigo // also called by a timer
	}
}
