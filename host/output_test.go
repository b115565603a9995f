package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// talker is a guest that writes 30 lines of 100 bytes when it registers.
func talker() []byte {
	const registrationAt, iovecAt, lineAt = 2000, 3000, 3100
	line := asm.Cat(asm.I32Const(2), asm.I32Const(iovecAt), asm.I32Const(1), asm.I32Const(iovecAt+8), asm.Call(0), asm.Drop)
	register := asm.Cat(asm.Repeat(30, line...), asm.Text(registrationAt, asm.Registration))
	g := asm.Guest(nil).With(asm.Func{Export: "kopf_register", Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I64}, Code: register})
	g.Imports = []asm.Import{{Module: wasi.Module, Name: "fd_write", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I32}}}
	iovec := string([]byte{lineAt & 0xff, lineAt >> 8, 0, 0, 100, 0, 0, 0})
	g.Data = append(g.Data, asm.Data{Offset: registrationAt, Bytes: asm.Registration},
		asm.Data{Offset: iovecAt, Bytes: iovec}, asm.Data{Offset: lineAt, Bytes: strings.Repeat("x", 99) + "\n"})
	return g.Encode()
}

// TestModulesShareABucket: modules of one operator write together as much as one alone, and each knows what was dropped of it.
func TestModulesShareABucket(t *testing.T) {
	bucket := NewOutputBucket(2 * (99 + output.LineCost)) // of 60 lines, two of them a second
	var out writes
	var dropped int64
	for range 2 {
		m, err := load(t, talker(), Options{Stderr: &out, Output: bucket, LogLimit: 1, Dropped: func(int64) {}})
		if err != nil {
			t.Fatal(err)
		}
		dropped += m.Usage().Dropped
	}
	if len(out.all) < 2 || dropped < 30 || int64(len(out.all))+dropped != 60 || bucket.Dropped() != dropped {
		t.Errorf("%d lines were written, %d and %d are counted as dropped", len(out.all), dropped, bucket.Dropped())
	}
	alone, err := load(t, talker(), Options{Stderr: &out, LogLimit: 5 * (99 + output.LineCost), Dropped: func(int64) {}})
	if err != nil {
		t.Fatal(err)
	}
	if got := alone.Usage().Dropped; got > 25 || got == 0 || bucket.Dropped() != dropped {
		t.Errorf("a module alone: %d lines dropped; of the others %d", got, bucket.Dropped())
	}
}

// TestErrorsCountAsOutput: the host logs them. A timer that fails each time could write hundreds of megabytes a second.
func TestErrorsCountAsOutput(t *testing.T) {
	const size, limit, calls = 32 << 10, 64 << 10, 20
	long := strings.Repeat("x", size)
	for name, module := range map[string]asm.Module{
		"error": answering(`{"step":"done","error":{"kind":"temporary","message":"` + long + `","stack":"` + long + `","delay":0}}`),
		"trap":  answering(`{"step":"` + long + `"}`),
	} {
		m, err := load(t, module.Encode(), Options{LogLimit: limit, Dropped: func(int64) {}})
		if err != nil {
			t.Fatal(err)
		}
		began, total := time.Now(), 0
		for range calls {
			task, step, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
			var failure *GuestError
			switch {
			case errors.As(err, &failure):
				total += len(failure.Message) + len(failure.Stack)
			case step.Error != nil:
				total += len(step.Error.Message) + len(step.Error.Stack)
				task.Release(t.Context())
			}
		}
		if most := float64(limit)*(1+time.Since(began).Seconds()) + calls*2*(output.ShortError+100); float64(total) > most || total < limit/2 {
			t.Errorf("%s: %d bytes in %v, at most %.0f", name, total, time.Since(began), most)
		}
		if m.Usage().Dropped == 0 {
			t.Errorf("%s: it is not counted", name)
		}
	}
}
