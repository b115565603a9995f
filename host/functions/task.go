package functions

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
)

// Task is the task for which a guest calls a function. The guest supplies all arguments: a
// text may be no UTF-8, a document may be no JSON, a number may be out of range. A nil Task
// is a task that the guest made up: its functions return abi.ErrnoInvalid.
//
// Codes are OK or one of the numbers abi.Errno….
type Task struct {
	Env Env

	segment abi.Segment // the most recently requested one
}

// Segment returns a segment of the invocation. It keeps the segment for the next call,
// because guests ask for the length first. The caller must not change the data.
func (t *Task) Segment(tag uint32) (data []byte, code int64) {
	if t == nil {
		return nil, abi.ErrnoInvalid
	}
	switch {
	case t.segment.Data != nil && t.segment.Tag == tag:
		return t.segment.Data, OK
	case tag == abi.TagAnswer: // only Call makes it
		return nil, abi.ErrnoAbsent
	}
	t.Forget()
	data = t.Env.Segment(tag)
	if data == nil {
		return nil, abi.ErrnoAbsent
	}
	return t.keep(tag, data)
}

// keep keeps a segment in place of none, unless there is no room for it.
func (t *Task) keep(tag uint32, data []byte) (kept []byte, code int64) {
	if keeper, ok := t.Env.(Keeper); ok {
		if err := keeper.Keep(tag, len(data)); err != nil {
			return nil, errnoOf(err)
		}
	}
	t.segment = abi.Segment{Tag: tag, Data: data}
	return data, OK
}

// Forget drops the kept segment: at the end of a step.
func (t *Task) Forget() {
	if t.segment.Data == nil {
		return
	}
	t.segment = abi.Segment{}
	if keeper, ok := t.Env.(Keeper); ok {
		_ = keeper.Keep(0, 0) // giving back is never refused
	}
}

// Stopped returns the stop reasons of a daemon as bits; 0 for a nil Task.
func (t *Task) Stopped() int {
	if t == nil {
		return 0
	}
	return t.Env.Stopped()
}

// Post posts an event in JSON.
func (t *Task) Post(data []byte) (code int64) {
	var ev abi.Event
	switch {
	case len(data) > MaxEvent:
		return abi.ErrnoTooLarge
	case t == nil || !utf8.Valid(data) || json.Unmarshal(data, &ev) != nil:
		return abi.ErrnoInvalid
	}
	return errnoOf(t.Env.Event(ev))
}

// Call makes a request, which is a message of the ABI in JSON, and waits for the response.
// It returns the answer in JSON. Guests fetch it as the segment abi.TagAnswer, until they ask
// for another segment. Only the task of the running call can make requests, because the
// cancellation of that task ends them.
func (t *Task) Call(g Guest, data []byte) (answer []byte, code int64) {
	switch {
	case len(data) > MaxCall:
		return nil, abi.ErrnoTooLarge
	case t == nil || t != g.Owner():
		return nil, abi.ErrnoInvalid
	}
	t.Forget() // memory is free while the task waits
	answer, err := json.Marshal(Answer(g, data))
	if err != nil {
		return nil, abi.ErrnoInvalid
	}
	return t.keep(abi.TagAnswer, answer)
}

// MemoGet returns a value and its version.
func (t *Task) MemoGet(scope uint32, key string) (value []byte, version uint64, code int64) {
	switch {
	case t == nil || scope > MaxScope:
		return nil, 0, abi.ErrnoInvalid
	case len(key) > MaxKey:
		return nil, 0, abi.ErrnoTooLarge
	}
	value, version, found := t.Env.MemoGet(int(scope), key)
	if !found {
		return nil, 0, abi.ErrnoAbsent
	}
	return value, version, OK
}

// MemoSet stores a JSON value, or deletes it if the value is empty. It returns the new
// version, or a code. The value belongs to the Env afterwards.
func (t *Task) MemoSet(scope uint32, key string, value []byte, version int64) int64 {
	switch {
	case t == nil || scope > MaxScope || len(value) > 0 && !isJSON(value):
		return abi.ErrnoInvalid
	case len(key) > MaxKey || len(value) > MaxMemo:
		return abi.ErrnoTooLarge
	}
	next, err := t.Env.MemoSet(int(scope), key, value, version)
	if err != nil {
		return errnoOf(err)
	}
	return int64(next)
}

// Index reads an index. The key belongs to the Env afterwards.
func (t *Task) Index(op uint32, name string, key []byte) (data []byte, code int64) {
	switch {
	case len(key) > MaxMemo:
		return nil, abi.ErrnoTooLarge
	case t == nil || op > MaxIndexOp || len(key) > 0 && !isJSON(key):
		return nil, abi.ErrnoInvalid
	}
	data, err := t.Env.Index(int(op), name, key)
	return data, errnoOf(err)
}

// Limits of numbers. See Env about their meanings.
const (
	MaxScope   = 1
	MaxIndexOp = 3
)

func isJSON(data []byte) bool { return utf8.Valid(data) && json.Valid(data) }
