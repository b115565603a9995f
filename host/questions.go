package host

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
)

// The host functions of the module kopf. The guest supplies the arguments: a task may be
// unknown, an address may be invalid, a text may be no UTF-8.

// Limits of what guests pass to host functions, in bytes.
const (
	maxKey   = 4 << 10
	maxEvent = 64 << 10
	maxMemo  = 1 << 20
)

// ok is the result of functions that return no length.
const ok = 0

func i32(stack []uint64, i int) uint32 { return uint32(stack[i]) }

// errno is a negative result.
func errno(code int64) uint64 { return uint64(code) }

// hostLog is kopf.log(task, level, ptr, len).
func hostLog(c *call, stack []uint64) {
	t := c.task(i32(stack, 0))
	size := i32(stack, 3)
	if t == nil || !c.in.m.output.allow(int(min(size, maxLine))) {
		return
	}
	text, found := c.memory().string(i32(stack, 2), min(size, maxLine))
	if !found {
		return
	}
	level := int(int32(i32(stack, 1)))
	text = validText(text)
	if level >= levelCritical {
		c.lastWords = text
	}
	t.env.Log(level, text)
}

// hostSegment is kopf.segment(task, tag, ptr, cap) -> length.
func hostSegment(c *call, stack []uint64) {
	t := c.task(i32(stack, 0))
	if t == nil {
		stack[0] = errno(abi.ErrnoInvalid)
		return
	}
	data := t.segment(i32(stack, 1))
	if data == nil {
		stack[0] = errno(abi.ErrnoAbsent)
		return
	}
	stack[0] = c.output(data, i32(stack, 2), i32(stack, 3))
}

// hostStopped is kopf.stopped(task) -> bits.
func hostStopped(c *call, stack []uint64) {
	bits := 0
	if t := c.task(i32(stack, 0)); t != nil {
		bits = t.env.Stopped()
	}
	stack[0] = uint64(uint32(bits))
}

// hostConfig is kopf.config(key_ptr, key_len, ptr, cap) -> length. The registration cannot
// read secrets, because all instances share its outcome.
func hostConfig(c *call, stack []uint64) {
	key, code := c.key(i32(stack, 0), i32(stack, 1))
	if code != ok {
		stack[0] = errno(code)
		return
	}
	value, code := c.configured(key)
	if code != ok {
		stack[0] = errno(code)
		return
	}
	stack[0] = c.output(value, i32(stack, 2), i32(stack, 3))
}

// configured returns a value of the configuration, or the code of an error.
func (c *call) configured(key string) (value []byte, code int64) {
	text, found := c.options().Config[key]
	if !found && !c.registering {
		text, found = c.options().Secrets[key]
	}
	if !found {
		return nil, abi.ErrnoAbsent
	}
	return []byte(text), ok
}

// hostRandom is kopf.random(ptr, len) -> 0 or an error.
func hostRandom(c *call, stack []uint64) {
	if !c.fillRandom(i32(stack, 0), i32(stack, 1)) {
		stack[0] = errno32(abi.ErrnoFault)
		return
	}
	stack[0] = ok
}

// errno32 is a negative result of a function that returns an i32.
func errno32(code int64) uint64 { return uint64(uint32(int32(code))) }

// fillRandom fills a part of the memory in pieces, so that the call can be stopped.
func (c *call) fillRandom(ptr, size uint32) bool {
	view, found := c.memory().view(ptr, size)
	for len(view) > 0 {
		piece := view[:min(len(view), 64<<10)]
		rand.Read(piece) // never fails, see its documentation
		view = view[len(piece):]
		c.check()
	}
	return found
}

// hostEvent is kopf.event(task, ptr, len) -> 0 or an error.
func hostEvent(c *call, stack []uint64) { stack[0] = errno32(c.event(stack)) }

func (c *call) event(stack []uint64) int64 {
	t := c.task(i32(stack, 0))
	if t == nil {
		return abi.ErrnoInvalid
	}
	if i32(stack, 2) > maxEvent {
		return abi.ErrnoTooLarge
	}
	data, found := c.memory().view(i32(stack, 1), i32(stack, 2))
	if !found {
		return abi.ErrnoFault
	}
	return t.post(data)
}

// post posts an event in JSON. A nil task posts nothing.
func (t *Task) post(data []byte) (code int64) {
	var ev abi.Event
	switch {
	case len(data) > maxEvent:
		return abi.ErrnoTooLarge
	case t == nil || !utf8.Valid(data) || json.Unmarshal(data, &ev) != nil:
		return abi.ErrnoInvalid
	}
	return errnoOf(t.env.Event(ev))
}

// hostMemoGet is kopf.memo_get(task, scope, key_ptr, key_len, ptr, cap) -> length.
// The output is the version as a little-endian number of 8 bytes, then the value.
func hostMemoGet(c *call, stack []uint64) {
	t, scope := c.task(i32(stack, 0)), i32(stack, 1)
	key, code := c.key(i32(stack, 2), i32(stack, 3))
	if code == ok && (t == nil || scope > 1) {
		code = abi.ErrnoInvalid
	}
	if code != ok {
		stack[0] = errno(code)
		return
	}
	value, version, found := t.env.MemoGet(int(scope), key)
	if !found {
		stack[0] = errno(abi.ErrnoAbsent)
		return
	}
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(value)), version)
	stack[0] = c.output(append(out, value...), i32(stack, 4), i32(stack, 5))
}

// hostMemoSet is kopf.memo_set(task, scope, key_ptr, key_len, ptr, len, version) -> version.
func hostMemoSet(c *call, stack []uint64) { stack[0] = uint64(c.memoSet(stack)) }

func (c *call) memoSet(stack []uint64) int64 {
	t, scope := c.task(i32(stack, 0)), i32(stack, 1)
	key, code := c.key(i32(stack, 2), i32(stack, 3))
	switch {
	case code != ok:
		return code
	case t == nil || scope > 1:
		return abi.ErrnoInvalid
	case i32(stack, 5) > maxMemo:
		return abi.ErrnoTooLarge
	}
	value, found := c.memory().bytes(i32(stack, 4), i32(stack, 5))
	if !found {
		return abi.ErrnoFault
	}
	return t.setMemo(scope, key, value, int64(stack[6]))
}

// setMemo stores a value, and returns its new version or the code of an error.
func (t *Task) setMemo(scope uint32, key string, value []byte, version int64) int64 {
	switch {
	case scope > 1 || len(value) > 0 && !isJSON(value):
		return abi.ErrnoInvalid
	case len(value) > maxMemo:
		return abi.ErrnoTooLarge
	}
	next, err := t.env.MemoSet(int(scope), key, value, version)
	if err != nil {
		return errnoOf(err)
	}
	return int64(next)
}

// hostIndex is kopf.index(task, op, name_ptr, name_len, key_ptr, key_len, ptr, cap) -> length.
func hostIndex(c *call, stack []uint64) {
	data, code := c.index(stack)
	if code != ok {
		stack[0] = errno(code)
		return
	}
	stack[0] = c.output(data, i32(stack, 6), i32(stack, 7))
}

func (c *call) index(stack []uint64) ([]byte, int64) {
	t, op := c.task(i32(stack, 0)), i32(stack, 1)
	name, code := c.key(i32(stack, 2), i32(stack, 3))
	switch {
	case code != ok:
		return nil, code
	case t == nil || op > 3:
		return nil, abi.ErrnoInvalid
	case i32(stack, 5) > maxMemo:
		return nil, abi.ErrnoTooLarge
	}
	key, found := c.memory().bytes(i32(stack, 4), i32(stack, 5))
	if !found {
		return nil, abi.ErrnoFault
	}
	return t.lookUp(op, name, key)
}

// lookUp reads an index.
func (t *Task) lookUp(op uint32, name string, key []byte) (data []byte, code int64) {
	switch {
	case len(key) > maxMemo:
		return nil, abi.ErrnoTooLarge
	case op > 3 || len(key) > 0 && !isJSON(key):
		return nil, abi.ErrnoInvalid
	}
	data, err := t.env.Index(int(op), name, key)
	return data, errnoOf(err)
}

// key reads a name from the guest's memory.
func (c *call) key(ptr, size uint32) (string, int64) {
	if size > maxKey {
		return "", abi.ErrnoTooLarge
	}
	text, found := c.memory().view(ptr, size)
	if !found {
		return "", abi.ErrnoFault
	}
	return keyOf(text)
}

// keyOf validates and copies a name.
func keyOf(text []byte) (string, int64) {
	switch {
	case len(text) > maxKey:
		return "", abi.ErrnoTooLarge
	case !utf8.Valid(text):
		return "", abi.ErrnoInvalid
	}
	return string(text), ok
}

// output writes data into the guest's buffer if it fits, and returns its length.
func (c *call) output(data []byte, ptr, size uint32) uint64 {
	if uint64(len(data)) <= uint64(size) && !c.memory().Write(ptr, data) {
		return errno(abi.ErrnoFault)
	}
	return uint64(len(data))
}

func isJSON(data []byte) bool { return utf8.Valid(data) && json.Valid(data) }
