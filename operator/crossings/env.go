package crossings

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// env is the environment of a call, whose answers are seen.
type env struct {
	guests.Env
	side *side
}

// Log implements guests.Env.
func (e *env) Log(level int, message string) {
	e.Env.Log(level, message)
	e.side.see(Log{level, message})
}

// Segment implements guests.Env.
func (e *env) Segment(tag uint32) []byte {
	value := e.Env.Segment(tag)
	e.side.see(Segment{tag, value})
	return value
}

// Stopped implements guests.Env.
func (e *env) Stopped() int {
	bits := e.Env.Stopped()
	e.side.see(Stopped{bits})
	return bits
}

// Event implements guests.Env.
func (e *env) Event(event abi.Event) error {
	err := e.Env.Event(event)
	e.side.see(Event{event, err})
	return err
}

// Call implements guests.Env.
func (e *env) Call(ctx context.Context, call *abi.Call) abi.Answer {
	var answer abi.Answer
	if given := e.given(call); given != nil {
		answer = *given
	} else {
		answer = e.Env.Call(ctx, call)
	}
	e.side.see(Request{call, answer})
	return answer
}

func (e *env) given(call *abi.Call) *abi.Answer {
	if e.side.border.Answer == nil {
		return nil
	}
	return e.side.border.Answer(call)
}

// MemoGet implements guests.Env.
func (e *env) MemoGet(scope int, key string) ([]byte, uint64, bool) {
	value, version, found := e.Env.MemoGet(scope, key)
	e.side.see(MemoGet{scope, key, value, version, found})
	return value, version, found
}

// MemoSet implements guests.Env.
func (e *env) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	result, err := e.Env.MemoSet(scope, key, value, version)
	e.side.see(MemoSet{scope, key, value, version, result, err})
	return result, err
}

// Index implements guests.Env.
func (e *env) Index(op int, name string, key []byte) ([]byte, error) {
	value, err := e.Env.Index(op, name, key)
	e.side.see(Index{op, name, key, value, err})
	return value, err
}
