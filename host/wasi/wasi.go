// Package wasi holds the functions of wasi_snapshot_preview1 for guests, and their clock.
//
// A guest sees an empty system: no arguments after the name of the program, no environment, no sockets, and no
// files except the three standard streams. The host provides the clock, random numbers and sleeping.
//
// See https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md
package wasi

import (
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/imports"
)

// Module is the name under which guests import the functions.
const Module = "wasi_snapshot_preview1"

// Process is the running call of a guest, as these functions use it. Methods are called on
// the goroutine of the call. A method may end the call instead of returning.
type Process interface {
	// Memory returns the linear memory of the guest.
	Memory() api.Memory

	// Clock returns the clock of the guest.
	Clock() *Clock

	// Sleep waits, and moves the clock.
	Sleep(d time.Duration)

	// Random fills the buffer with random bytes.
	Random(buf []byte)

	// Write writes to standard output (1) or standard error (2). The data is valid only
	// during the call.
	Write(stream uint32, data []byte)

	// Exit ends the guest with an exit code. It does not return.
	Exit(code uint32)
}

// Error numbers.
const (
	errnoOK     = 0
	errnoBadF   = 8
	errnoFault  = 21
	errnoInval  = 28
	errnoNoSys  = 52
	errnoNoTSup = 58
	errnoSPipe  = 70
)

// Functions holds all functions of the module by their names. It must not be changed.
var Functions = build()

func build() map[string]imports.Function[Process] {
	all := map[string]imports.Function[Process]{
		"args_get":          imports.Func("(i32, i32) -> i32", arguments),
		"args_sizes_get":    imports.Func("(i32, i32) -> i32", argumentSizes),
		"environ_get":       imports.Func("(i32, i32) -> i32", constant(errnoOK)),
		"environ_sizes_get": imports.Func("(i32, i32) -> i32", noStrings),
		"clock_res_get":     imports.Func("(i32, i32) -> i32", clockResolution),
		"clock_time_get":    imports.Func("(i32, i64, i32) -> i32", clockTime),
		"poll_oneoff":       imports.Func("(i32, i32, i32, i32) -> i32", poll),
		"random_get":        imports.Func("(i32, i32) -> i32", random),
		"sched_yield":       imports.Func("() -> i32", constant(errnoOK)),
		"proc_exit":         imports.Func("(i32) -> ()", exit),
		"proc_raise":        imports.Func("(i32) -> i32", constant(errnoNoSys)),

		"fd_write":              imports.Func("(i32, i32, i32, i32) -> i32", write),
		"fd_read":               imports.Func("(i32, i32, i32, i32) -> i32", read),
		"fd_fdstat_get":         imports.Func("(i32, i32) -> i32", fdstat),
		"fd_fdstat_set_flags":   imports.Func("(i32, i32) -> i32", onStream(errnoOK)),
		"fd_fdstat_set_rights":  imports.Func("(i32, i64, i64) -> i32", onStream(errnoOK)),
		"fd_filestat_get":       imports.Func("(i32, i32) -> i32", filestat),
		"fd_close":              imports.Func("(i32) -> i32", onStream(errnoOK)),
		"fd_datasync":           imports.Func("(i32) -> i32", onStream(errnoOK)),
		"fd_sync":               imports.Func("(i32) -> i32", onStream(errnoOK)),
		"fd_seek":               imports.Func("(i32, i64, i32, i32) -> i32", onStream(errnoSPipe)),
		"fd_tell":               imports.Func("(i32, i32) -> i32", onStream(errnoSPipe)),
		"fd_advise":             imports.Func("(i32, i64, i64, i32) -> i32", onStream(errnoSPipe)),
		"fd_allocate":           imports.Func("(i32, i64, i64) -> i32", onStream(errnoNoTSup)),
		"fd_filestat_set_size":  imports.Func("(i32, i64) -> i32", onStream(errnoInval)),
		"fd_filestat_set_times": imports.Func("(i32, i64, i64, i32) -> i32", onStream(errnoNoTSup)),
		"fd_pread":              imports.Func("(i32, i32, i32, i64, i32) -> i32", onStream(errnoSPipe)),
		"fd_pwrite":             imports.Func("(i32, i32, i32, i64, i32) -> i32", onStream(errnoSPipe)),
		"fd_prestat_get":        imports.Func("(i32, i32) -> i32", constant(errnoBadF)),
		"fd_prestat_dir_name":   imports.Func("(i32, i32, i32) -> i32", constant(errnoBadF)),
		"fd_readdir":            imports.Func("(i32, i32, i32, i64, i32) -> i32", constant(errnoBadF)),
		"fd_renumber":           imports.Func("(i32, i32) -> i32", constant(errnoBadF)),
	}
	// The guest has no directory and no socket.
	for name, typ := range map[string]string{
		"path_create_directory":   "(i32, i32, i32) -> i32",
		"path_filestat_get":       "(i32, i32, i32, i32, i32) -> i32",
		"path_filestat_set_times": "(i32, i32, i32, i32, i64, i64, i32) -> i32",
		"path_link":               "(i32, i32, i32, i32, i32, i32, i32) -> i32",
		"path_open":               "(i32, i32, i32, i32, i32, i64, i64, i32, i32) -> i32",
		"path_readlink":           "(i32, i32, i32, i32, i32, i32) -> i32",
		"path_remove_directory":   "(i32, i32, i32) -> i32",
		"path_rename":             "(i32, i32, i32, i32, i32, i32) -> i32",
		"path_symlink":            "(i32, i32, i32, i32, i32) -> i32",
		"path_unlink_file":        "(i32, i32, i32) -> i32",
		"sock_accept":             "(i32, i32, i32) -> i32",
		"sock_recv":               "(i32, i32, i32, i32, i32, i32) -> i32",
		"sock_send":               "(i32, i32, i32, i32, i32) -> i32",
		"sock_shutdown":           "(i32, i32) -> i32",
	} {
		all[name] = imports.Func(typ, constant(errnoBadF))
	}
	return all
}

// constant returns a function with a constant result.
func constant(code uint64) func(Process, []uint64) {
	return func(_ Process, stack []uint64) { stack[0] = code }
}

// onStream returns a function with a constant result for the standard streams. All other
// files do not exist.
func onStream(code uint64) func(Process, []uint64) {
	return func(_ Process, stack []uint64) {
		if imports.U32(stack, 0) > 2 {
			stack[0] = errnoBadF
			return
		}
		stack[0] = code
	}
}
