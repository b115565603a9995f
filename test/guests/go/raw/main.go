//go:build wasip1

// Command raw is a guest without an SDK that breaks the contract where it can.
//
// The configuration chooses its registration: `document` is what it answers, and
// `register` what it does instead of an answer: panic, spin, or sleep. Its one handler,
// "breach", does what `spec.do` of the object says, see handlers.go.
package main

import (
	"encoding/json"
	"time"
	"unsafe"

	"github.com/kopf-wasm/kopf/abi"
)

func main() {}

var (
	incoming []byte // the latest allocation
	outgoing []byte // the latest answer, which must stay until the next call
)

//go:wasmexport kopf_abi_v1
func marker() {}

//go:wasmexport kopf_alloc
func alloc(size uint32) uint32 {
	incoming = make([]byte, max(size, 1))
	return address(incoming)
}

//go:wasmexport kopf_register
func register(_, size uint32) uint64 {
	var request abi.RegisterRequest
	if err := json.Unmarshal(incoming[:size], &request); err != nil {
		panic(err)
	}
	switch request.Config["register"] {
	case "panic":
		panic("no registration today")
	case "spin":
		for {
		}
	case "sleep":
		time.Sleep(time.Hour)
	}
	if document, ok := request.Config["document"]; ok {
		return answer(document)
	}
	return answer(`{"handlers":[{"kind":"create","id":"breach","fn":"breach","resource":{"args":["kopfexamples"]},"backoff":1}]}`)
}

//go:wasmexport kopf_start
func start(_, _, size uint32) uint64 {
	body, err := abi.FindSegment(incoming[:size], abi.TagBody)
	if err != nil {
		panic(err)
	}
	var object struct{ Spec struct{ Do string } }
	if err := json.Unmarshal(body, &object); err != nil {
		panic(err)
	}
	return do(object.Spec.Do)
}

// answer keeps a message and returns its address and length.
func answer(text string) uint64 {
	outgoing = []byte(text)
	return uint64(address(outgoing))<<32 | uint64(len(outgoing))
}

func address(data []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) }
