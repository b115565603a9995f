package host

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
)

// The host functions as a native program calls them: with messages instead of addresses. The
// meaning and the limits are those of questions.go.

func indexOfLine(text string) int { return strings.IndexByte(text, '\n') }

// arguments reads the arguments of a function one by one. Those that are missing are zero.
type arguments struct {
	data []byte
	bad  bool
}

func (a *arguments) u32() uint32 {
	if len(a.data) < 4 {
		a.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint32(a.data)
	a.data = a.data[4:]
	return v
}

func (a *arguments) i64() int64 {
	low := a.u32()
	return int64(uint64(a.u32())<<32 | uint64(low))
}

// text is one with its length before it.
func (a *arguments) text() []byte {
	size := a.u32()
	if uint64(size) > uint64(len(a.data)) {
		a.bad = true
		return nil
	}
	text := a.data[:size]
	a.data = a.data[size:]
	return text
}

// answer answers a function that the program calls: its result, and its output.
func (c *call) answer(m message) (int64, []byte) {
	t := c.task(m.Task)
	a := &arguments{data: m.data}
	if m.Kind == abi.MessageConfig {
		return c.configOf(m.data)
	}
	if m.Kind == abi.MessageRandom {
		buf := make([]byte, min(a.u32(), abi.MaxMessage))
		rand.Read(buf) // never fails, see its documentation
		return ok, buf
	}
	if t == nil {
		return abi.ErrnoInvalid, nil
	}
	switch m.Kind {
	case abi.MessageLog:
		level := int(int32(a.u32()))
		if text := a.data[:min(len(a.data), maxLine)]; c.logs(len(text)+lineCost, t.env) {
			t.env.Log(level, validText(string(text)))
		}
		return ok, nil
	case abi.MessageSegment:
		return found(t.segment(a.u32()))
	case abi.MessageStopped:
		return int64(t.env.Stopped()), nil
	case abi.MessageEvent:
		return t.postedEvent(m.data), nil
	case abi.MessageMemoGet:
		return t.memoOf(a)
	case abi.MessageMemoSet:
		return t.setMemo(a), nil
	case abi.MessageIndex:
		return t.lookedUp(a)
	}
	return abi.ErrnoInvalid, nil
}

// found is an output, or that there is none.
func found(data []byte) (int64, []byte) {
	if data == nil {
		return abi.ErrnoAbsent, nil
	}
	return int64(len(data)), data
}

// keyOf checks the name of something.
func keyOf(text []byte) (string, int64) {
	switch {
	case len(text) > maxKey:
		return "", abi.ErrnoTooLarge
	case !utf8.Valid(text):
		return "", abi.ErrnoInvalid
	}
	return string(text), ok
}

func (c *call) configOf(text []byte) (int64, []byte) {
	key, code := keyOf(text)
	if code != ok {
		return code, nil
	}
	value, is := c.options().Config[key]
	if !is && !c.registering {
		value, is = c.options().Secrets[key]
	}
	if !is {
		return abi.ErrnoAbsent, nil
	}
	return int64(len(value)), []byte(value)
}

func (t *Task) postedEvent(data []byte) int64 {
	var ev abi.Event
	switch {
	case len(data) > maxEvent:
		return abi.ErrnoTooLarge
	case !utf8.Valid(data) || json.Unmarshal(data, &ev) != nil:
		return abi.ErrnoInvalid
	}
	return errnoOf(t.env.Event(ev))
}

func (t *Task) memoOf(a *arguments) (int64, []byte) {
	scope := a.u32()
	key, code := keyOf(a.data)
	if code == ok && (a.bad || scope > 1) {
		code = abi.ErrnoInvalid
	}
	if code != ok {
		return code, nil
	}
	value, version, is := t.env.MemoGet(int(scope), key)
	if !is {
		return abi.ErrnoAbsent, nil
	}
	return int64(version), value
}

func (t *Task) setMemo(a *arguments) int64 {
	scope, version := a.u32(), a.i64()
	key, code := keyOf(a.text())
	switch value := a.data; {
	case code != ok:
		return code
	case a.bad || scope > 1 || len(value) > 0 && !isJSON(value):
		return abi.ErrnoInvalid
	case len(value) > maxMemo:
		return abi.ErrnoTooLarge
	}
	next, err := t.env.MemoSet(int(scope), key, a.data, version)
	if err != nil {
		return errnoOf(err)
	}
	return int64(next)
}

func (t *Task) lookedUp(a *arguments) (int64, []byte) {
	op := a.u32()
	name, code := keyOf(a.text())
	switch key := a.data; {
	case code != ok:
		return code, nil
	case len(key) > maxMemo:
		return abi.ErrnoTooLarge, nil
	case a.bad || op > 3 || len(key) > 0 && !isJSON(key):
		return abi.ErrnoInvalid, nil
	}
	data, err := t.env.Index(int(op), name, a.data)
	if err != nil {
		return errnoOf(err), nil
	}
	return int64(len(data)), data
}
