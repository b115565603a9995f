package extism

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/imports"
)

// UserFunctions holds the functions of the module UserModule by their names. They replace the steps
// and the host functions of the module kopf. Arguments and results are blocks of JSON or
// text; the result 0 means no block. Unlike steps, they block the plugin. The map must not be
// changed.
var UserFunctions = map[string]imports.Function[Caller]{
	"kopf_call":     function("(i64) -> i64", call),
	"kopf_wait":     function("(i64) -> i64", wait),
	"kopf_stopped":  function("() -> i64", stopped),
	"kopf_event":    function("(i64) -> i64", event),
	"kopf_memo_get": function("(i64, i64) -> i64", memoGet),
	"kopf_memo_set": function("(i64, i64, i64) -> i64", memoSet),
	"kopf_index":    function("(i64, i64, i64) -> i64", index),
}

// call is kopf_call(call) -> answer.
func call(k *kernel, c Caller, s []uint64) {
	text, err := json.Marshal(functions.Answer(c, k.at(s[0])))
	if err != nil {
		guests.Stop(fmt.Errorf("%w: %w", guests.ErrMessage, err))
	}
	s[0] = k.put(text)
}

// maxWait bounds one wait: a year.
const maxWait = 365 * 24 * time.Hour

// wait is kopf_wait(milliseconds) -> stop reasons, as bits. It ends early if the handler has
// to stop or is cancelled.
func wait(_ *kernel, c Caller, s []uint64) {
	d := time.Duration(min(s[0], uint64(maxWait/time.Millisecond))) * time.Millisecond
	s[0] = 0
	if c.Owner() == nil {
		return
	}
	c.Wait(d, func() bool {
		s[0] = uint64(c.Owner().Stopped())
		return s[0] != 0
	})
}

// stopped is kopf_stopped() -> stop reasons, as bits.
func stopped(_ *kernel, c Caller, s []uint64) { s[0] = uint64(c.Owner().Stopped()) }

// event is kopf_event(event) -> 0 or an error.
func event(k *kernel, c Caller, s []uint64) { s[0] = uint64(c.Owner().Post(k.at(s[0]))) }

// memoGet is kopf_memo_get(scope, key) -> value, or 0. It omits the version.
func memoGet(k *kernel, c Caller, s []uint64) {
	value, _, code := c.Owner().MemoGet(number(s[0]), string(k.at(s[1])))
	s[0] = k.found(value, code)
}

// memoSet is kopf_memo_set(scope, key, value) -> 0 or an error. The value 0 deletes the key.
// The last writer wins.
func memoSet(k *kernel, c Caller, s []uint64) {
	value := append([]byte(nil), k.at(s[2])...)
	if s[2] != 0 && len(value) == 0 { // no block: an empty value would delete the key
		code := int64(abi.ErrnoInvalid)
		s[0] = uint64(code)
		return
	}
	s[0] = uint64(min(functions.OK, c.Owner().MemoSet(number(s[0]), string(k.at(s[1])), value, anyVersion)))
}

// anyVersion makes memo_set replace any version.
const anyVersion = -1

// index is kopf_index(op, name, key) -> JSON, or 0. See the host function index.
func index(k *kernel, c Caller, s []uint64) {
	data, code := c.Owner().Index(number(s[0]), string(k.at(s[1])), append([]byte(nil), k.at(s[2])...))
	s[0] = k.found(data, code)
}

// number converts an argument of the type i64. All numbers beyond 32 bits are invalid.
func number(v uint64) uint32 { return uint32(min(v, math.MaxUint32)) }
