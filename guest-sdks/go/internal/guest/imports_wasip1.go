//go:build wasip1

package guest

// The host functions. See SPEC.md, "Host functions".

//go:wasmimport kopf log
func hostLog(task, level, ptr, size uint32)

//go:wasmimport kopf segment
func hostSegment(task, tag, ptr, size uint32) int64

//go:wasmimport kopf stopped
func hostStopped(task uint32) int32

//go:wasmimport kopf config
func hostConfig(keyPtr, keySize, ptr, size uint32) int64

//go:wasmimport kopf random
func hostRandom(ptr, size uint32) int32

//go:wasmimport kopf event
func hostEvent(task, ptr, size uint32) int32

//go:wasmimport kopf memo_get
func hostMemoGet(task, scope, keyPtr, keySize, ptr, size uint32) int64

//go:wasmimport kopf memo_set
func hostMemoSet(task, scope, keyPtr, keySize, ptr, size uint32, version int64) int64

//go:wasmimport kopf index
func hostIndex(task, op, namePtr, nameSize, keyPtr, keySize, ptr, size uint32) int64
