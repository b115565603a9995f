package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// The functions of extism:host/user. They replace the steps and the host functions of the
// module kopf. Arguments and results are blocks of JSON or text; the result 0 means no
// block. Unlike steps, they block the plugin.

var pluginFunctions = map[string]hostFunction{
	"kopf_call":     kernelFunction("(i64) -> i64", pluginCall),
	"kopf_wait":     kernelFunction("(i64) -> i64", pluginWait),
	"kopf_stopped":  kernelFunction("() -> i64", pluginStopped),
	"kopf_event":    kernelFunction("(i64) -> i64", pluginEvent),
	"kopf_memo_get": kernelFunction("(i64, i64) -> i64", pluginMemoGet),
	"kopf_memo_set": kernelFunction("(i64, i64, i64) -> i64", pluginMemoSet),
	"kopf_index":    kernelFunction("(i64, i64, i64) -> i64", pluginIndex),
}

// Causes for the end of a plugin's call.
var (
	errOutside = fmt.Errorf("%w: outside of the memory of the call", ErrMemory)
	errVars    = fmt.Errorf("%w: too much in variables", ErrMemory)
	errRequest = fmt.Errorf("%w: the request is no JSON", ErrMessage)
)

// pluginRequestError is a request without a response.
type pluginRequestError struct{ message string }

func (e *pluginRequestError) Error() string { return e.message }

// Requester is an optional interface of Env. It makes requests for guests that cannot wait
// by steps.
type Requester interface {
	// Call makes a request and waits for the response, or for the end of the context.
	Call(ctx context.Context, call *abi.Call) abi.Answer
}

// request makes a request while other guests compute. It ends with the call, or when the
// task is cancelled.
func (c *call) request(wanted *abi.Call) abi.Answer {
	var r Requester
	if c.owner != nil {
		r, _ = c.owner.env.(Requester)
	}
	if r == nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var answer abi.Answer
	done := make(chan struct{})
	c.slept += c.away(func() {
		go func() { // Waited for below.
			defer close(done)
			answer = r.Call(ctx, wanted)
		}()
		select {
		case <-done:
		case <-c.woken:
			cancel()
		}
		<-done
	})
	c.now = time.Now()
	c.check()
	c.newStep()
	return answer
}

// pluginCall is kopf_call(call) -> answer.
func pluginCall(k *kernel, c *call, s []uint64) {
	wanted := &abi.Call{}
	answer := abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallInvalid, Message: "the call is no JSON"}}
	if json.Unmarshal(k.at(s[0]), wanted) == nil {
		answer = c.request(wanted)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		c.stop(fmt.Errorf("%w: %w", ErrMessage, err))
	}
	s[0] = k.put(c, text)
}

// pluginTick is how often a waiting daemon's stop reasons are checked.
const pluginTick = 100 * time.Millisecond

// pluginWait is kopf_wait(milliseconds) -> stop reasons, as bits. It ends early if the
// handler has to stop or is cancelled. Waiting does not count as computing.
func pluginWait(_ *kernel, c *call, s []uint64) {
	rest := time.Duration(min(s[0], uint64(time.Hour*24*365/time.Millisecond))) * time.Millisecond
	s[0] = 0
	if c.owner == nil {
		return
	}
	defer c.newStep()
	for {
		if bits := c.owner.env.Stopped(); bits != 0 || rest <= 0 || c.ctx.Err() != nil {
			s[0] = uint64(bits)
			return
		}
		tick := min(rest, pluginTick)
		rest -= tick
		c.idle(tick)
	}
}

// idle waits without a core, and moves the clock.
func (c *call) idle(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	c.slept += c.away(func() {
		select {
		case <-timer.C:
		case <-c.ctx.Done():
		case <-c.woken:
		}
	})
	c.now = time.Now()
	c.check()
}

func pluginStopped(_ *kernel, c *call, s []uint64) {
	s[0] = 0
	if c.owner != nil {
		s[0] = uint64(c.owner.env.Stopped())
	}
}

// pluginEvent is kopf_event(event) -> 0 or an error.
func pluginEvent(k *kernel, c *call, s []uint64) {
	s[0] = errno(c.owner.post(k.at(s[0])))
}

// pluginMemoGet is kopf_memo_get(scope, key) -> value, or 0. It omits the version.
func pluginMemoGet(k *kernel, c *call, s []uint64) {
	key, scope := string(k.at(s[1])), s[0]
	s[0] = 0
	if c.owner == nil || scope > 1 || len(key) > maxKey {
		return
	}
	if value, _, found := c.owner.env.MemoGet(int(scope), key); found {
		s[0] = k.put(c, value)
	}
}

// pluginMemoSet is kopf_memo_set(scope, key, value) -> 0 or an error. The value 0 deletes
// the key. The last writer wins.
func pluginMemoSet(k *kernel, c *call, s []uint64) {
	key, value, scope := string(k.at(s[1])), k.at(s[2]), s[0]
	switch {
	case c.owner == nil || scope > 1 || s[2] != 0 && !isJSON(value):
		s[0] = errno(abi.ErrnoInvalid)
	case len(key) > maxKey || len(value) > maxMemo:
		s[0] = errno(abi.ErrnoTooLarge)
	default:
		_, err := c.owner.env.MemoSet(int(scope), key, append([]byte(nil), value...), -1)
		s[0] = errno(errnoOf(err))
	}
}

// pluginIndex is kopf_index(op, name, key) -> JSON, or 0. See the host function index.
func pluginIndex(k *kernel, c *call, s []uint64) {
	op, name, key := s[0], string(k.at(s[1])), append([]byte(nil), k.at(s[2])...)
	s[0] = 0
	if c.owner == nil || op > 3 || len(key) > maxMemo || len(key) > 0 && !isJSON(key) {
		return
	}
	if data, err := c.owner.env.Index(int(op), name, key); err == nil {
		s[0] = k.put(c, data)
	}
}

func base64Text(data []byte) abi.Raw {
	return abi.Raw(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
}

// bytesOfBody returns the body of a response as bytes.
func bytesOfBody(r *abi.Response) []byte {
	if len(r.Body) == 0 || r.Body[0] != '"' {
		return r.Body
	}
	var text string
	if json.Unmarshal(r.Body, &text) != nil {
		return nil
	}
	if r.Encoding != abi.EncodingBase64 {
		return []byte(text)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

func lower(name string) string { return strings.ToLower(name) }
