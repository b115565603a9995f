package host

import (
	"errors"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// diver is a guest whose handler calls itself so often, and then sleeps for 0.2 seconds with all of its stack.
func diver(depth int32) []byte {
	const self, subscriptionAt, eventAt, countAt = asm.FirstMore + 1, 3000, 3100, 3200 // after one import
	sleep := asm.Cat(asm.I32Const(subscriptionAt), asm.I32Const(eventAt), asm.I32Const(1), asm.I32Const(countAt), asm.Call(0), asm.Drop)
	dive := asm.Cat(asm.Get(0), asm.If, asm.Get(0), asm.I32Const(1), asm.I32Sub, asm.Call(self), asm.Else, sleep, asm.End)
	g := asm.Guest(asm.Cat(asm.I32Const(depth), asm.Call(self)), asm.Func{Params: []byte{asm.I32}, Code: dive})
	g.Imports = []asm.Import{{Module: wasi.Module, Name: "poll_oneoff", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I32}}}
	subscription := make([]byte, 48)
	subscription[16] = 1                                                // the monotonic clock
	copy(subscription[24:], []byte{0x00, 0xc2, 0xeb, 0x0b, 0, 0, 0, 0}) // 200,000,000 nanoseconds
	g.Data = append(g.Data, asm.Data{Offset: subscriptionAt, Bytes: string(subscription)})
	return g.Encode()
}

// TestStacksOfWaitingCallsCount: a call that sleeps in a deep recursion keeps its stack, which is no memory of the guest. Thousands of
// calls may sleep.
func TestStacksOfWaitingCallsCount(t *testing.T) {
	const depth = 300_000
	m, err := load(t, diver(depth), Options{InstanceMemory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	before, most := m.options.Memories.Used(), int64(0)
	ended := make(chan error, 1)
	go func() { // Waited for below.
		task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err == nil {
			task.Release(t.Context())
		}
		ended <- err
	}()
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			running = false
		case <-time.After(time.Millisecond):
			most = max(most, m.options.Memories.Used())
		}
	}
	if most < before+(1<<20) {
		t.Errorf("%d bytes were counted before, and at most %d while the guest slept", before, most)
	}
	if now := m.options.Memories.Used(); now > before+wasmPage { // the idle instance
		t.Errorf("%d bytes are counted afterwards, and %d were before", now, before)
	}
	small, err := load(t, diver(depth), Options{InstanceMemory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := small.Start(t.Context(), invoke(""), nil, &testEnv{}); !errors.Is(err, ErrMemory) {
		t.Errorf("without room for the stack: %v", err)
	}
	if now := small.options.Memories.Used(); now > wasmPage {
		t.Errorf("%d bytes are counted after the end of the instance", now)
	}
}
