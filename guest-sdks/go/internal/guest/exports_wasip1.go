//go:build wasip1

package guest

import "runtime"

// The exports of the module. See SPEC.md, "Exports".

//go:wasmexport kopf_abi_v1
func exportMarker() {}

//go:wasmexport kopf_alloc
func exportAlloc(size uint32) uint32 { return alloc(size) }

//go:wasmexport kopf_register
func exportRegister(ptr, size uint32) uint64 { return give(Default.Register(take(ptr, size))) }

//go:wasmexport kopf_start
func exportStart(task, ptr, size uint32) uint64 {
	return give(Default.Start(task, take(ptr, size)))
}

//go:wasmexport kopf_resume
func exportResume(task, ptr, size uint32) uint64 {
	return give(Default.Resume(task, take(ptr, size)))
}

//go:wasmexport kopf_cancel
func exportCancel(task uint32) { Default.Cancel(task) }

//go:wasmexport kopf_release
func exportRelease(task uint32) { Default.Release(task) }

//go:wasmexport kopf_ask
func exportAsk(task, ptr, size uint32) uint64 { return give(Default.Ask(task, take(ptr, size))) }

//go:wasmexport kopf_transform
func exportTransform(task, ptr, size uint32) uint64 {
	return give(Default.Transform(task, take(ptr, size)))
}

// give passes an answer to the host. It collects garbage earlier than the runtime
// would, see thrift.
//
//go:noinline // a copy in each export would be larger
func give(answer []byte) uint64 {
	if Default.thrift.due(Default.Pending()) {
		runtime.GC()
	}
	return given(answer)
}
