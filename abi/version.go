package abi

import "strconv"

// Version is the version of the ABI that this package describes. A host of
// version N also runs guests of version N-1, from version 2 on.
const Version = 1

// ExportVersion is the prefix of the export that names the ABI version of a
// guest: a function without parameters and results, which is never called. It
// is read before any code of the guest runs.
const ExportVersion = "kopf_abi_v"

// Exports of a guest. See SPEC.md, "Exports".
const (
	ExportMemory     = "memory"         // the linear memory
	ExportInitialize = "_initialize"    // optional: () -> (), once, before all others
	ExportAlloc      = "kopf_alloc"     // (size i32) -> ptr i32
	ExportRegister   = "kopf_register"  // (ptr, len i32) -> i64
	ExportStart      = "kopf_start"     // (task, ptr, len i32) -> i64
	ExportResume     = "kopf_resume"    // (task, ptr, len i32) -> i64
	ExportCancel     = "kopf_cancel"    // (task i32) -> ()
	ExportRelease    = "kopf_release"   // (task i32) -> ()
	ExportAsk        = "kopf_ask"       // (task, ptr, len i32) -> i64
	ExportTransform  = "kopf_transform" // (task, ptr, len i32) -> i64
)

// ImportModule is the module name of all host functions.
const ImportModule = "kopf"

// Host functions. See SPEC.md, "Host functions", for parameters and results.
const (
	ImportLog     = "log"
	ImportSegment = "segment"
	ImportStopped = "stopped"
	ImportConfig  = "config"
	ImportRandom  = "random"
	ImportEvent   = "event"
	ImportMemoGet = "memo_get"
	ImportMemoSet = "memo_set"
	ImportIndex   = "index"
	ImportFile    = "file"
	ImportCall    = "call"
)

// Results of host functions that return a length or a version: negative
// numbers are errors.
const (
	ErrnoAbsent   = -1 // the segment, the key or the value is absent
	ErrnoConflict = -2 // the version is not the current one
	ErrnoFault    = -3 // a pointer or a length exceeds the memory
	ErrnoDenied   = -4 // not granted to the operator
	ErrnoTooLarge = -5 // a limit of the host is exceeded
	ErrnoInvalid  = -6 // against the specification: not JSON, unknown task
)

// VersionOfExport returns the ABI version that an export's name declares; false if it
// declares no version.
func VersionOfExport(name string) (version int, ok bool) {
	if len(name) <= len(ExportVersion) || name[:len(ExportVersion)] != ExportVersion {
		return 0, false
	}
	version, err := strconv.Atoi(name[len(ExportVersion):])
	return version, err == nil && version > 0
}
