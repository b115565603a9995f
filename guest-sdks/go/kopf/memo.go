package kopf

import (
	"errors"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Memo keeps values between the calls of handlers, in the memory of the host: it
// is gone when the object is deleted or the operator ends. The memo of an object is
// shared by all its handlers, and starts as a copy of the operator's.
//
// See https://docs.kopf.dev/en/latest/memos/
type Memo struct {
	task  *guest.Task
	scope int
}

// memoScope is the scope of the memo of a call.
func memoScope(t *guest.Task) int {
	if t.Body == nil && t.Call.Activity != "" {
		return guest.ScopeOperator
	}
	return guest.ScopeObject
}

// Get is the value of a key, or a view of nothing.
func (m Memo) Get(key string) View {
	_, value, err := m.task.Host.MemoGet(m.task.ID, m.scope, key)
	if err != nil {
		return View{}
	}
	return View{&node{raw: value, key: "memo." + key}}
}

// Set stores a value. The last write wins: to build on the present value, use Update.
func (m Memo) Set(key string, value any) error {
	text, err := jsonlite.Encode(value)
	if err != nil {
		return err
	}
	_, err = m.task.Host.MemoSet(m.task.ID, m.scope, key, text, guest.AnyVersion)
	return refused(key, err)
}

// memoError is why the host did not take a value.
type memoError struct {
	key string
	err error
}

func (e *memoError) Error() string {
	reason := e.err.Error()
	if errors.Is(e.err, guest.Errno(abi.ErrnoInvalid)) {
		reason = "the value is not JSON"
	}
	return "the memo's key " + strconv.Quote(e.key) + ": " + reason
}

func (e *memoError) Unwrap() error { return e.err }

func refused(key string, err error) error {
	if err == nil {
		return nil
	}
	return &memoError{key, err}
}

// Delete forgets a key.
func (m Memo) Delete(key string) error {
	_, err := m.task.Host.MemoSet(m.task.ID, m.scope, key, nil, guest.AnyVersion)
	if errors.Is(err, guest.Errno(abi.ErrnoAbsent)) {
		return nil
	}
	return refused(key, err)
}

// Update stores what fn makes of the present value. If another task stores a
// value meanwhile, Update calls fn again with that value:
//
//	err := c.Memo.Update("count", func(old kopf.View) (any, error) { return old.Int() + 1, nil })
func (m Memo) Update(key string, fn func(old View) (any, error)) error {
	for {
		version, old, err := m.task.Host.MemoGet(m.task.ID, m.scope, key)
		if err != nil && !errors.Is(err, guest.Errno(abi.ErrnoAbsent)) {
			return refused(key, err)
		}
		value, err := fn(View{&node{raw: old, key: "memo." + key}})
		if err != nil {
			return err
		}
		text, err := jsonlite.Encode(value)
		if err != nil {
			return err
		}
		_, err = m.task.Host.MemoSet(m.task.ID, m.scope, key, text, version)
		if !errors.Is(err, guest.Errno(abi.ErrnoConflict)) {
			return refused(key, err)
		}
	}
}
