package host

import (
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// minimalWaiter is a guest that waits and cannot be resumed.
func minimalWaiter() []byte {
	const wait = `{"step":"wait"}`
	g := asm.Guest(nil)
	g.Data = append(g.Data, asm.Data{Offset: 3000, Bytes: wait})
	return g.With(asm.Func{
		Export: "kopf_start", Params: []byte{asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I64},
		Code: asm.Text(3000, wait),
	}).Encode()
}
