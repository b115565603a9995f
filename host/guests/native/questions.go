package native

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
)

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

// key reads a name that begins with its length.
func (a *arguments) key() (string, int64) { return a.checked(a.text()) }

// lastKey reads a name that is the rest of the arguments.
func (a *arguments) lastKey() (string, int64) { return a.checked(a.data) }

func (a *arguments) checked(text []byte) (string, int64) {
	key, code := functions.Key(text)
	if code == functions.OK && a.bad {
		code = abi.ErrnoInvalid
	}
	return key, code
}

// answer answers a host function call of the program with a result and an output.
func answer(g functions.Guest, m Message) (int64, []byte) {
	a := &arguments{data: m.Data}
	switch m.Kind {
	case abi.MessageConfig:
		return config(g, a)
	case abi.MessageRandom:
		buf := make([]byte, min(a.u32(), abi.MaxMessage))
		rand.Read(buf) // never fails, see its documentation
		return functions.OK, buf
	}
	t := g.Task(m.Task)
	if t == nil {
		return abi.ErrnoInvalid, nil
	}
	switch m.Kind {
	case abi.MessageCall:
		defer t.Forget() // the program gets the answer now
		return output(t.Call(g, m.Data))
	case abi.MessageLog:
		level := int(int32(a.u32()))
		g.Log(t, level, a.data)
		return functions.OK, nil
	case abi.MessageSegment:
		return output(t.Segment(a.u32()))
	case abi.MessageStopped:
		return int64(t.Stopped()), nil
	case abi.MessageEvent:
		return t.Post(m.Data), nil
	case abi.MessageMemoGet:
		return memoGet(t, a)
	case abi.MessageMemoSet:
		return memoSet(t, a), nil
	case abi.MessageIndex:
		return index(t, a)
	}
	return abi.ErrnoInvalid, nil
}

// output is the result of a function that returns data or a code.
func output(data []byte, code int64) (int64, []byte) {
	if code != functions.OK {
		return code, nil
	}
	return int64(len(data)), data
}

func config(g functions.Guest, a *arguments) (int64, []byte) {
	key, code := a.lastKey()
	if code != functions.OK {
		return code, nil
	}
	return output(functions.Config(g, key))
}

// memoGet returns the version as the result.
func memoGet(t *functions.Task, a *arguments) (int64, []byte) {
	scope := a.u32()
	key, code := a.lastKey()
	if code != functions.OK {
		return code, nil
	}
	value, version, code := t.MemoGet(scope, key)
	if code != functions.OK {
		return code, nil
	}
	return int64(version), value
}

func memoSet(t *functions.Task, a *arguments) int64 {
	scope, version := a.u32(), a.i64()
	key, code := a.key()
	if code != functions.OK {
		return code
	}
	return t.MemoSet(scope, key, a.data, version)
}

func index(t *functions.Task, a *arguments) (int64, []byte) {
	op := a.u32()
	name, code := a.key()
	if code != functions.OK {
		return code, nil
	}
	return output(t.Index(op, name, a.data))
}
