package host

import (
	"errors"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests/extism"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// heavyEnv takes as long for a segment as a large difference of an object does.
type heavyEnv struct{ testEnv }

func (e *heavyEnv) Segment(tag uint32) []byte {
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
	}
	return []byte{byte(tag)}
}

// TestHeavyFunctionsLetOthersCompute: functions of the host that take long count like code of the guest, and the core goes
// around between them: a guest that asks for large segments again and again kept it for as long as ComputeLimit.
func TestHeavyFunctionsLetOthersCompute(t *testing.T) {
	if !onOneCore(t) {
		return
	}
	segment := func(tag int32) []byte {
		return asm.Cat(asm.Get(0), asm.I32Const(tag), asm.I32Const(0), asm.I32Const(0), asm.Call(0), asm.Drop)
	}
	g := asm.Guest(loop(segment(abi.TagOld), segment(abi.TagNew)))
	g.Imports = []asm.Import{{Module: abi.ImportModule, Name: abi.ImportSegment, Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I64}}}
	const limit = 2 * time.Second
	hostile, err := load(t, g.Encode(), Options{ComputeLimit: limit})
	if err != nil {
		t.Fatal(err)
	}
	neighbour := loadSmall(t)
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		_, _, err := hostile.Start(t.Context(), invoke(""), nil, &heavyEnv{})
		done <- err
	}()
	var longest time.Duration
	calls := 0
	for over := false; !over; calls++ {
		longest = max(longest, round(t, neighbour))
		select {
		case err := <-done:
			if over = true; !errors.Is(err, ErrCompute) {
				t.Errorf("the hostile guest: %v", err)
			}
		default:
		}
	}
	if longest > limit/4 || time.Since(began) > 10*limit {
		t.Errorf("%d calls of the neighbour, of which the longest took %v; the hostile one took %v", calls, longest, time.Since(began))
	}
}

// TestRandomNumbersLetOthersCompute: a guest may want as many as its memory has room for, which takes half a second.
func TestRandomNumbersLetOthersCompute(t *testing.T) {
	const pieces = 10
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(2 * sliceOfCore); return now }
	c := &call{in: &instance{m: &Module{}}, budget: newBudget(t.Context(), &Options{Clock: clock, Share: NewShare(0, 0), ComputeLimit: time.Hour}, now)}
	c.queued = &queue{}
	c.share.Take()
	defer c.share.Leave()
	if c.Random(make([]byte, pieces*64<<10)); c.slices != pieces {
		t.Errorf("others had the core %d times, want %d", c.slices, pieces)
	}
}

// TestLightFunctions: only functions that take no time are not timed one by one.
func TestLightFunctions(t *testing.T) {
	for name, light := range map[string]bool{
		"load_u64": true, "store_u8": true, "input_load_u64": true, "length": true, "output_set": true, "error_set": true,
		"alloc": false, "free": false, "var_get": false, "var_set": false, "config_get": false, "http_request": false, "http_headers": false, "log_info": false,
	} {
		if got := isLight(extism.EnvModule, name); got != light {
			t.Errorf("%s is light: %t, want %t", name, got, light)
		}
	}
}
