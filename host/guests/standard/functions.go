package standard

import (
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/imports"
)

// Caller is the running call, as the functions of the module kopf use it.
type Caller interface {
	functions.Guest

	// Memory returns the linear memory of the guest.
	Memory() api.Memory

	// Files returns the files that are embedded in the module; nil if there are none.
	Files() *files.Set

	// Random fills the buffer with random bytes.
	Random(buf []byte)
}

// Functions holds the functions of the module kopf by their names. It must not be changed.
// This file only finds arguments in memory: see package functions for the rest.
var Functions = map[string]imports.Function[Caller]{
	abi.ImportLog:     imports.Func("(i32, i32, i32, i32) -> ()", log),
	abi.ImportSegment: imports.Func("(i32, i32, i32, i32) -> i64", segment),
	abi.ImportStopped: imports.Func("(i32) -> i32", stopped),
	abi.ImportConfig:  imports.Func("(i32, i32, i32, i32) -> i64", config),
	abi.ImportRandom:  imports.Func("(i32, i32) -> i32", random),
	abi.ImportEvent:   imports.Func("(i32, i32, i32) -> i32", event),
	abi.ImportMemoGet: imports.Func("(i32, i32, i32, i32, i32, i32) -> i64", memoGet),
	abi.ImportMemoSet: imports.Func("(i32, i32, i32, i32, i32, i32, i64) -> i64", memoSet),
	abi.ImportIndex:   imports.Func("(i32, i32, i32, i32, i32, i32, i32, i32) -> i64", index),
	abi.ImportFile:    imports.Func("(i32, i32, i32, i32) -> i64", file),
	abi.ImportCall:    imports.Func("(i32, i32, i32) -> i64", call),
}

// log is kopf.log(task, level, ptr, len). It has no result, so the log itself says what is wrong.
func log(c Caller, stack []uint64) {
	t := task(c, stack)
	if t == nil && imports.U32(stack, 0) != 0 { // it is over
		return
	}
	ptr, size := imports.U32(stack, 2), imports.U32(stack, 3)
	line, found := c.Memory().Read(ptr, min(size, functions.MaxLine))
	if !found {
		line = fmt.Appendf(nil, "The module called log with %d bytes at the address %#x, but its memory has %d bytes.", size, ptr, c.Memory().Size())
		c.Log(t, abi.LevelError, line)
		return
	}
	c.Log(t, int(int32(imports.U32(stack, 1))), line)
}

// segment is kopf.segment(task, tag, ptr, cap) -> length.
func segment(c Caller, stack []uint64) {
	data, code := task(c, stack).Segment(imports.U32(stack, 1))
	stack[0] = result(c, data, code, imports.U32(stack, 2), imports.U32(stack, 3))
}

// stopped is kopf.stopped(task) -> bits.
func stopped(c Caller, stack []uint64) { stack[0] = uint64(uint32(task(c, stack).Stopped())) }

// config is kopf.config(key_ptr, key_len, ptr, cap) -> length.
func config(c Caller, stack []uint64) {
	var value []byte
	key, code := keyAt(c, imports.U32(stack, 0), imports.U32(stack, 1))
	if code == functions.OK {
		value, code = functions.Config(c, key)
	}
	stack[0] = result(c, value, code, imports.U32(stack, 2), imports.U32(stack, 3))
}

// random is kopf.random(ptr, len) -> 0 or an error.
func random(c Caller, stack []uint64) {
	buf, found := c.Memory().Read(imports.U32(stack, 0), imports.U32(stack, 1))
	if !found {
		stack[0] = errno32(abi.ErrnoFault)
		return
	}
	c.Random(buf)
	stack[0] = functions.OK
}

// event is kopf.event(task, ptr, len) -> 0 or an error.
func event(c Caller, stack []uint64) { stack[0] = errno32(post(c, stack)) }

func post(c Caller, stack []uint64) int64 {
	t, size := task(c, stack), imports.U32(stack, 2)
	switch {
	case t == nil:
		return abi.ErrnoInvalid
	case size > functions.MaxEvent:
		return abi.ErrnoTooLarge
	}
	data, found := c.Memory().Read(imports.U32(stack, 1), size)
	if !found {
		return abi.ErrnoFault
	}
	return t.Post(data)
}

// memoGet is kopf.memo_get(task, scope, key_ptr, key_len, ptr, cap) -> length.
// The output is the version as a little-endian number of 8 bytes, then the value.
func memoGet(c Caller, stack []uint64) {
	var out []byte
	key, code := keyAt(c, imports.U32(stack, 2), imports.U32(stack, 3))
	if code == functions.OK {
		out, code = versioned(task(c, stack).MemoGet(imports.U32(stack, 1), key))
	}
	stack[0] = result(c, out, code, imports.U32(stack, 4), imports.U32(stack, 5))
}

// versioned puts the version before a value.
func versioned(value []byte, version uint64, code int64) ([]byte, int64) {
	if code != functions.OK {
		return nil, code
	}
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(value)), version)
	return append(out, value...), functions.OK
}

// memoSet is kopf.memo_set(task, scope, key_ptr, key_len, ptr, len, version) -> version.
func memoSet(c Caller, stack []uint64) { stack[0] = uint64(setMemo(c, stack)) }

func setMemo(c Caller, stack []uint64) int64 {
	t, scope, size := task(c, stack), imports.U32(stack, 1), imports.U32(stack, 5)
	key, code := keyAt(c, imports.U32(stack, 2), imports.U32(stack, 3))
	switch {
	case code != functions.OK:
		return code
	case t == nil || scope > functions.MaxScope:
		return abi.ErrnoInvalid
	case size > functions.MaxMemo:
		return abi.ErrnoTooLarge
	}
	value, found := clone(c.Memory(), imports.U32(stack, 4), size)
	if !found {
		return abi.ErrnoFault
	}
	return t.MemoSet(scope, key, value, int64(stack[6]))
}

// index is kopf.index(task, op, name_ptr, name_len, key_ptr, key_len, ptr, cap) -> length.
func index(c Caller, stack []uint64) {
	data, code := lookUp(c, stack)
	stack[0] = result(c, data, code, imports.U32(stack, 6), imports.U32(stack, 7))
}

func lookUp(c Caller, stack []uint64) (data []byte, code int64) {
	t, op, size := task(c, stack), imports.U32(stack, 1), imports.U32(stack, 5)
	name, code := keyAt(c, imports.U32(stack, 2), imports.U32(stack, 3))
	switch {
	case code != functions.OK:
		return nil, code
	case t == nil || op > functions.MaxIndexOp:
		return nil, abi.ErrnoInvalid
	case size > functions.MaxMemo:
		return nil, abi.ErrnoTooLarge
	}
	key, found := clone(c.Memory(), imports.U32(stack, 4), size)
	if !found {
		return nil, abi.ErrnoFault
	}
	return t.Index(op, name, key)
}

// file is kopf.file(path_ptr, path_len, ptr, cap) -> length.
func file(c Caller, stack []uint64) {
	var content []byte
	path, code := keyAt(c, imports.U32(stack, 0), imports.U32(stack, 1))
	if code == functions.OK {
		content, code = functions.File(c.Files(), path)
	}
	stack[0] = result(c, content, code, imports.U32(stack, 2), imports.U32(stack, 3))
}

// call is kopf.call(task, ptr, len) -> length of the answer. The guest fetches the answer as
// a segment.
func call(c Caller, stack []uint64) {
	answer, code := request(c, stack)
	stack[0] = result(c, answer, code, 0, 0)
}

func request(c Caller, stack []uint64) (answer []byte, code int64) {
	t, size := task(c, stack), imports.U32(stack, 2)
	switch {
	case t == nil:
		return nil, abi.ErrnoInvalid
	case size > functions.MaxCall:
		return nil, abi.ErrnoTooLarge
	}
	data, found := c.Memory().Read(imports.U32(stack, 1), size)
	if !found {
		return nil, abi.ErrnoFault
	}
	return t.Call(c, data)
}

// task returns the task of the first argument; nil for an unknown one.
func task(c Caller, stack []uint64) *functions.Task { return c.Task(imports.U32(stack, 0)) }

// keyAt reads a name from memory.
func keyAt(c Caller, ptr, size uint32) (string, int64) {
	if size > functions.MaxKey {
		return "", abi.ErrnoTooLarge
	}
	text, found := c.Memory().Read(ptr, size)
	if !found {
		return "", abi.ErrnoFault
	}
	return functions.Key(text)
}

// clone copies a part of the memory.
func clone(m api.Memory, ptr, size uint32) ([]byte, bool) {
	view, found := m.Read(ptr, size)
	if !found {
		return nil, false
	}
	return append(make([]byte, 0, len(view)), view...), true
}

// result is a code, or the length of data, which it writes into the guest's buffer if the
// data fits.
func result(c Caller, data []byte, code int64, ptr, size uint32) uint64 {
	switch {
	case code != functions.OK:
	case uint64(len(data)) <= uint64(size) && !c.Memory().Write(ptr, data):
		code = abi.ErrnoFault
	default:
		code = int64(len(data))
	}
	return uint64(code)
}

// errno32 is a negative result of a function that returns an i32.
func errno32(code int64) uint64 { return uint64(uint32(int32(code))) }
