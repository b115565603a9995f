package host

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/kopf-wasm/kopf/abi"
)

// Host functions for native programs, with messages instead of addresses. Their semantics
// and limits are those of questions.go.

// arguments reads the arguments of a function one by one. Missing arguments are zero.
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

// text reads an argument that begins with its length.
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

// answer answers a host function call of the program with a result and an output.
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
		if text := a.data[:min(len(a.data), maxLine)]; c.in.m.output.allow(len(text)) {
			t.env.Log(level, validText(string(text)))
		}
		return ok, nil
	case abi.MessageSegment:
		return found(t.segment(a.u32()))
	case abi.MessageStopped:
		return int64(t.env.Stopped()), nil
	case abi.MessageEvent:
		return t.post(m.data), nil
	case abi.MessageMemoGet:
		return t.memoOf(a)
	case abi.MessageMemoSet:
		return t.memoFrom(a), nil
	case abi.MessageIndex:
		return t.lookedUp(a)
	}
	return abi.ErrnoInvalid, nil
}

// found returns an output, or the code for a missing value.
func found(data []byte) (int64, []byte) {
	if data == nil {
		return abi.ErrnoAbsent, nil
	}
	return int64(len(data)), data
}

func (c *call) configOf(text []byte) (int64, []byte) {
	key, code := keyOf(text)
	if code != ok {
		return code, nil
	}
	value, code := c.configured(key)
	if code != ok {
		return code, nil
	}
	return int64(len(value)), value
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

func (t *Task) memoFrom(a *arguments) int64 {
	scope, version := a.u32(), a.i64()
	key, code := keyOf(a.text())
	if code == ok && a.bad {
		code = abi.ErrnoInvalid
	}
	if code != ok {
		return code
	}
	return t.setMemo(scope, key, a.data, version)
}

func (t *Task) lookedUp(a *arguments) (int64, []byte) {
	op := a.u32()
	name, code := keyOf(a.text())
	if code == ok && a.bad {
		code = abi.ErrnoInvalid
	}
	if code != ok {
		return code, nil
	}
	data, code := t.lookUp(op, name, a.data)
	if code != ok {
		return code, nil
	}
	return int64(len(data)), data
}
