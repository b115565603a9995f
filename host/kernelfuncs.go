package host

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// The functions of extism:host/env, with the types that the development kits declare.
// Offsets come from the plugin and may be invalid.

// kernelFunction returns a host function on the memory of the call.
func kernelFunction(typ string, do func(k *kernel, c *call, stack []uint64)) hostFunction {
	return hostFunction{typ, func(c *call, stack []uint64) { do(c.in.kernel, c, stack) }}
}

var kernelFunctions = map[string]hostFunction{
	"input_length":     kernelFunction("() -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.input.size }),
	"input_offset":     kernelFunction("() -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.input.offset }),
	"input_load_u8":    kernelFunction("(i64) -> i32", kernelInputByte),
	"input_load_u64":   kernelFunction("(i64) -> i64", kernelInputWord),
	"length":           kernelFunction("(i64) -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.blocks[s[0]] }),
	"length_unsafe":    kernelFunction("(i64) -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.blocks[s[0]] }),
	"alloc":            kernelFunction("(i64) -> i64", func(k *kernel, c *call, s []uint64) { s[0] = k.alloc(c, s[0]) }),
	"free":             kernelFunction("(i64) -> ()", func(k *kernel, _ *call, s []uint64) { k.free(s[0]) }),
	"output_set":       kernelFunction("(i64, i64) -> ()", func(k *kernel, _ *call, s []uint64) { k.output = block{s[0], s[1]} }),
	"output_offset":    kernelFunction("() -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.output.offset }),
	"output_length":    kernelFunction("() -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.output.size }),
	"error_set":        kernelFunction("(i64) -> ()", func(k *kernel, _ *call, s []uint64) { k.problem = block{s[0], k.blocks[s[0]]} }),
	"error_get":        kernelFunction("() -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.problem.offset }),
	"store_u8":         kernelFunction("(i64, i32) -> ()", kernelStoreByte),
	"store_u64":        kernelFunction("(i64, i64) -> ()", kernelStoreWord),
	"load_u8":          kernelFunction("(i64) -> i32", kernelLoadByte),
	"load_u64":         kernelFunction("(i64) -> i64", func(k *kernel, _ *call, s []uint64) { s[0] = k.word(s[0]) }),
	"config_get":       kernelFunction("(i64) -> i64", kernelConfig),
	"var_get":          kernelFunction("(i64) -> i64", kernelVarGet),
	"var_set":          kernelFunction("(i64, i64) -> ()", kernelVarSet),
	"http_request":     kernelFunction("(i64, i64) -> i64", kernelHTTP),
	"http_status_code": kernelFunction("() -> i32", kernelStatus),
	"http_headers":     kernelFunction("() -> i64", kernelHeaders),
	"log_trace":        kernelFunction("(i64) -> ()", kernelLog(10)),
	"log_debug":        kernelFunction("(i64) -> ()", kernelLog(10)),
	"log_info":         kernelFunction("(i64) -> ()", kernelLog(20)),
	"log_warn":         kernelFunction("(i64) -> ()", kernelLog(30)),
	"log_error":        kernelFunction("(i64) -> ()", kernelLog(40)),
	"get_log_level":    kernelFunction("() -> i32", func(_ *kernel, _ *call, s []uint64) { s[0] = 0 }), // all levels: the host filters
}

func kernelInputByte(k *kernel, _ *call, s []uint64) {
	offset := s[0]
	s[0] = 0
	if offset < k.input.size {
		s[0] = uint64(k.arena[k.input.offset+offset])
	}
}

func kernelInputWord(k *kernel, _ *call, s []uint64) {
	offset := s[0]
	s[0] = 0
	if offset < k.input.size && k.input.size-offset >= 8 {
		s[0] = k.word(k.input.offset + offset)
	}
}

func kernelLoadByte(k *kernel, _ *call, s []uint64) {
	part := k.span(s[0], 1)
	s[0] = 0
	if part != nil {
		s[0] = uint64(part[0])
	}
}

func kernelStoreByte(k *kernel, c *call, s []uint64) {
	part := k.span(s[0], 1)
	if part == nil {
		c.stop(errOutside)
	}
	part[0] = byte(s[1])
}

func kernelStoreWord(k *kernel, c *call, s []uint64) {
	part := k.span(s[0], 8)
	if part == nil {
		c.stop(errOutside)
	}
	binary.LittleEndian.PutUint64(part, s[1])
}

// kernelConfig is config_get(key) -> value, or 0. The registration cannot read secrets.
func kernelConfig(k *kernel, c *call, s []uint64) {
	key := k.at(s[0])
	value, found := c.options().Config[string(key)]
	if !found && !c.registering {
		value, found = c.options().Secrets[string(key)]
	}
	s[0] = 0
	if found {
		s[0] = k.put(c, []byte(value))
	}
}

func kernelVarGet(k *kernel, c *call, s []uint64) {
	value, found := k.vars[string(k.at(s[0]))]
	s[0] = 0
	if found {
		s[0] = k.put(c, value)
	}
}

// kernelVarSet is var_set(name, value). The value 0 deletes the variable.
func kernelVarSet(k *kernel, c *call, s []uint64) {
	if !k.set(string(k.at(s[0])), k.at(s[1]), s[1] != 0) {
		c.stop(errVars)
	}
}

// kernelLog is log_…(message): it writes a line to the log of the object.
func kernelLog(level int) func(k *kernel, c *call, s []uint64) {
	return func(k *kernel, c *call, s []uint64) {
		text := k.at(s[0])
		if c.owner == nil || !c.in.m.output.allow(min(len(text), maxLine)) {
			return
		}
		c.owner.env.Log(level, validText(string(text[:min(len(text), maxLine)])))
	}
}

// kernelHTTP is http_request(request, body) -> body. The request has the semantics of the
// step call. If no response arrives, the call of the plugin ends.
func kernelHTTP(k *kernel, c *call, s []uint64) {
	var request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(k.at(s[0]), &request); err != nil {
		c.stop(errRequest)
	}
	wanted := &abi.Call{Target: abi.TargetHTTP, Method: request.Method, Path: request.URL, Headers: map[string][]string{}}
	if wanted.Method == "" {
		wanted.Method = "GET"
	}
	for name, value := range request.Headers {
		wanted.Headers[name] = []string{value}
	}
	if body := k.at(s[1]); s[1] != 0 && len(body) > 0 {
		wanted.Body, wanted.Encoding = base64Text(body), abi.EncodingBase64
	}
	answer := c.request(wanted)
	if answer.Error != nil {
		c.stop(&pluginRequestError{answer.Error.Message})
	}
	k.answer, k.headers = answer.Response, block{}
	body := bytesOfBody(answer.Response)
	if limit := c.options().PluginResponse; len(body) > limit {
		c.stop(fmt.Errorf("%w: a response of %d bytes; the limit is %d", ErrMemory, len(body), limit))
	}
	s[0] = k.put(c, body)
}

func kernelStatus(k *kernel, _ *call, s []uint64) {
	s[0] = 0
	if k.answer != nil {
		s[0] = uint64(uint32(k.answer.Status))
	}
}

// kernelHeaders is http_headers() -> an object with the first value of each header.
func kernelHeaders(k *kernel, c *call, s []uint64) {
	s[0] = 0
	if k.answer == nil {
		return
	}
	if k.headers.offset == 0 {
		first := map[string]string{}
		for name, values := range k.answer.Headers {
			if len(values) > 0 {
				first[lower(name)] = values[0]
			}
		}
		text, err := json.Marshal(first)
		if err != nil {
			return
		}
		k.headers = block{k.put(c, text), uint64(len(text))}
	}
	s[0] = k.headers.offset
}
