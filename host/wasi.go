package host

// WASI preview 1 as a guest sees it is an empty system: no arguments, no environment, no
// sockets, and no files except the three standard streams. The host provides the clock,
// random numbers and sleeping: see clock.go.
//
// See https://github.com/WebAssembly/WASI/blob/wasi-0.1/preview1/docs.md
const wasiModule = "wasi_snapshot_preview1"

// Error numbers.
const (
	wasiOK     = 0
	wasiBadF   = 8
	wasiFault  = 21
	wasiInval  = 28
	wasiNoSys  = 52
	wasiNoTSup = 58
	wasiSPipe  = 70
)

// wasiFunctions holds all functions of the module.
var wasiFunctions = buildWASI()

func buildWASI() map[string]hostFunction {
	all := map[string]hostFunction{
		"args_get":          {"(i32, i32) -> i32", answer(wasiOK)},
		"args_sizes_get":    {"(i32, i32) -> i32", wasiNoStrings},
		"environ_get":       {"(i32, i32) -> i32", answer(wasiOK)},
		"environ_sizes_get": {"(i32, i32) -> i32", wasiNoStrings},
		"clock_res_get":     {"(i32, i32) -> i32", wasiClockRes},
		"clock_time_get":    {"(i32, i64, i32) -> i32", wasiClockTime},
		"poll_oneoff":       {"(i32, i32, i32, i32) -> i32", wasiPoll},
		"random_get":        {"(i32, i32) -> i32", wasiRandom},
		"sched_yield":       {"() -> i32", answer(wasiOK)},
		"proc_exit":         {"(i32) -> ()", wasiExit},
		"proc_raise":        {"(i32) -> i32", answer(wasiNoSys)},

		"fd_write":              {"(i32, i32, i32, i32) -> i32", wasiWrite},
		"fd_read":               {"(i32, i32, i32, i32) -> i32", wasiRead},
		"fd_fdstat_get":         {"(i32, i32) -> i32", wasiFdstat},
		"fd_fdstat_set_flags":   {"(i32, i32) -> i32", onStream(wasiOK)},
		"fd_fdstat_set_rights":  {"(i32, i64, i64) -> i32", onStream(wasiOK)},
		"fd_filestat_get":       {"(i32, i32) -> i32", wasiFilestat},
		"fd_close":              {"(i32) -> i32", onStream(wasiOK)},
		"fd_datasync":           {"(i32) -> i32", onStream(wasiOK)},
		"fd_sync":               {"(i32) -> i32", onStream(wasiOK)},
		"fd_seek":               {"(i32, i64, i32, i32) -> i32", onStream(wasiSPipe)},
		"fd_tell":               {"(i32, i32) -> i32", onStream(wasiSPipe)},
		"fd_advise":             {"(i32, i64, i64, i32) -> i32", onStream(wasiSPipe)},
		"fd_allocate":           {"(i32, i64, i64) -> i32", onStream(wasiNoTSup)},
		"fd_filestat_set_size":  {"(i32, i64) -> i32", onStream(wasiInval)},
		"fd_filestat_set_times": {"(i32, i64, i64, i32) -> i32", onStream(wasiNoTSup)},
		"fd_pread":              {"(i32, i32, i32, i64, i32) -> i32", onStream(wasiSPipe)},
		"fd_pwrite":             {"(i32, i32, i32, i64, i32) -> i32", onStream(wasiSPipe)},
		"fd_prestat_get":        {"(i32, i32) -> i32", answer(wasiBadF)},
		"fd_prestat_dir_name":   {"(i32, i32, i32) -> i32", answer(wasiBadF)},
		"fd_readdir":            {"(i32, i32, i32, i64, i32) -> i32", answer(wasiBadF)},
		"fd_renumber":           {"(i32, i32) -> i32", answer(wasiBadF)},
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
		all[name] = hostFunction{typ, answer(wasiBadF)}
	}
	return all
}

// answer returns a function with a constant result.
func answer(code uint64) func(*call, []uint64) {
	return func(_ *call, stack []uint64) { stack[0] = code }
}

// onStream returns a function with a constant result for the standard streams. All other
// files do not exist.
func onStream(code uint64) func(*call, []uint64) {
	return func(_ *call, stack []uint64) {
		if i32(stack, 0) > 2 {
			stack[0] = wasiBadF
			return
		}
		stack[0] = code
	}
}

// wasiNoStrings is args_sizes_get and environ_sizes_get: none, of 0 bytes.
func wasiNoStrings(c *call, stack []uint64) {
	stack[0] = fault(c.memory().putU32(i32(stack, 0), 0) && c.memory().putU32(i32(stack, 1), 0))
}

// fault is the result of a function, depending on whether its output was written.
func fault(written bool) uint64 {
	if !written {
		return wasiFault
	}
	return wasiOK
}

// wasiRandom is random_get(ptr, len).
func wasiRandom(c *call, stack []uint64) {
	stack[0] = fault(c.fillRandom(i32(stack, 0), i32(stack, 1)))
}

// wasiExit is proc_exit(code): the instance ends.
func wasiExit(c *call, stack []uint64) { c.stop(exitError(i32(stack, 0))) }

// wasiFdstat is fd_fdstat_get(fd, ptr): the streams are character devices that can be written to.
func wasiFdstat(c *call, stack []uint64) {
	const characterDevice, rights = 2, 1 << 6 // fd_write
	if i32(stack, 0) > 2 {
		stack[0] = wasiBadF
		return
	}
	ptr := i32(stack, 1)
	stack[0] = fault(c.memory().putU64(ptr, characterDevice) &&
		c.memory().putU64(ptr+8, rights) && c.memory().putU64(ptr+16, 0))
}

// wasiFilestat is fd_filestat_get(fd, ptr): 64 bytes, with the type at 16.
func wasiFilestat(c *call, stack []uint64) {
	if i32(stack, 0) > 2 {
		stack[0] = wasiBadF
		return
	}
	var stat [64]byte
	stat[16] = 2
	stack[0] = fault(c.memory().Write(i32(stack, 1), stat[:]))
}

// wasiRead is fd_read(fd, iovs, count, ptr): standard input is at its end.
func wasiRead(c *call, stack []uint64) {
	if i32(stack, 0) != 0 {
		stack[0] = wasiBadF
		return
	}
	stack[0] = fault(c.memory().putU32(i32(stack, 3), 0))
}

// wasiWrite is fd_write(fd, iovs, count, ptr). It may write less than
// requested, like any write.
func wasiWrite(c *call, stack []uint64) {
	fd := i32(stack, 0)
	if fd != 1 && fd != 2 {
		stack[0] = wasiBadF
		return
	}
	vectors, found := c.memory().u32s(i32(stack, 1), min(i32(stack, 2), maxVector/2)*2)
	if !found {
		stack[0] = wasiFault
		return
	}
	written := uint32(0)
	for i := 0; i < len(vectors) && written < maxWrite; i += 2 {
		size := min(vectors[i+1], maxWrite-written)
		data, found := c.memory().view(vectors[i], size)
		if !found {
			stack[0] = wasiFault
			return
		}
		c.write(fd, data)
		written += size
	}
	stack[0] = fault(c.memory().putU32(i32(stack, 3), written))
}

// maxWrite bounds one fd_write, in bytes.
const maxWrite = 64 << 10
