package extism

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/imports"
)

// EnvFunctions holds the functions of the module EnvModule by their names, with the types that the
// development kits declare. Offsets come from the plugin and may be invalid. The map must not
// be changed.
var EnvFunctions = map[string]imports.Function[Caller]{
	"input_length":     function("() -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.input.size }),
	"input_offset":     function("() -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.input.offset }),
	"input_load_u8":    function("(i64) -> i32", inputByte),
	"input_load_u64":   function("(i64) -> i64", inputWord),
	"length":           function("(i64) -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.blocks[s[0]] }),
	"length_unsafe":    function("(i64) -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.blocks[s[0]] }),
	"alloc":            function("(i64) -> i64", func(k *kernel, c Caller, s []uint64) { s[0] = k.alloc(s[0]) }),
	"free":             function("(i64) -> ()", func(k *kernel, _ Caller, s []uint64) { k.free(s[0]) }),
	"output_set":       function("(i64, i64) -> ()", func(k *kernel, _ Caller, s []uint64) { k.output = block{s[0], s[1]} }),
	"output_offset":    function("() -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.output.offset }),
	"output_length":    function("() -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.output.size }),
	"error_set":        function("(i64) -> ()", func(k *kernel, _ Caller, s []uint64) { k.problem = block{s[0], k.blocks[s[0]]} }),
	"error_get":        function("() -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.problem.offset }),
	"store_u8":         function("(i64, i32) -> ()", storeByte),
	"store_u64":        function("(i64, i64) -> ()", storeWord),
	"load_u8":          function("(i64) -> i32", loadByte),
	"load_u64":         function("(i64) -> i64", func(k *kernel, _ Caller, s []uint64) { s[0] = k.word(s[0]) }),
	"config_get":       function("(i64) -> i64", config),
	"var_get":          function("(i64) -> i64", varGet),
	"var_set":          function("(i64, i64) -> ()", varSet),
	"http_request":     function("(i64, i64) -> i64", httpRequest),
	"http_status_code": function("() -> i32", httpStatus),
	"http_headers":     function("() -> i64", httpHeaders),
	"log_trace":        function("(i64) -> ()", log(abi.LevelDebug)),
	"log_debug":        function("(i64) -> ()", log(abi.LevelDebug)),
	"log_info":         function("(i64) -> ()", log(abi.LevelInfo)),
	"log_warn":         function("(i64) -> ()", log(abi.LevelWarning)),
	"log_error":        function("(i64) -> ()", log(abi.LevelError)),
	"get_log_level":    function("() -> i32", func(_ *kernel, _ Caller, s []uint64) { s[0] = 0 }), // all levels: the host filters
}

// Causes for the end of a plugin's call.
var (
	errOutside  = fmt.Errorf("%w: outside of the memory of the call", guests.ErrMemory)
	errNoVars   = fmt.Errorf("%w: variables are disabled (max_var_bytes: 0)", guests.ErrMemory)
	errVars     = fmt.Errorf("%w: too much in variables", guests.ErrMemory)
	errTogether = fmt.Errorf("%w: all instances together have reached the limit InstanceMemory, or the operators of the namespace get no more memory", guests.ErrMemory)
	errRequest  = fmt.Errorf("%w: the request is no JSON, or has too many headers", guests.ErrMessage)
)

func inputByte(k *kernel, _ Caller, s []uint64) {
	offset := s[0]
	s[0] = 0
	if offset < k.input.size {
		s[0] = uint64(k.arena[k.input.offset+offset])
	}
}

func inputWord(k *kernel, _ Caller, s []uint64) {
	offset := s[0]
	s[0] = 0
	if offset < k.input.size && k.input.size-offset >= 8 {
		s[0] = k.word(k.input.offset + offset)
	}
}

func loadByte(k *kernel, _ Caller, s []uint64) {
	part := k.span(s[0], 1)
	s[0] = 0
	if part != nil {
		s[0] = uint64(part[0])
	}
}

func storeByte(k *kernel, c Caller, s []uint64) {
	part := k.span(s[0], 1)
	if part == nil {
		guests.Stop(errOutside)
	}
	part[0] = byte(s[1])
}

func storeWord(k *kernel, c Caller, s []uint64) {
	part := k.span(s[0], 8)
	if part == nil {
		guests.Stop(errOutside)
	}
	binary.LittleEndian.PutUint64(part, s[1])
}

// config is config_get(key) -> value, or 0. The registration cannot read secrets.
func config(k *kernel, c Caller, s []uint64) {
	value, code := functions.Config(c, string(k.at(s[0])))
	s[0] = k.found(value, code)
}

func varGet(k *kernel, c Caller, s []uint64) {
	value, found := k.vars.values[string(k.at(s[0]))]
	s[0] = 0
	if found {
		s[0] = k.put(value)
	}
}

// varSet is var_set(name, value). The value 0 deletes the variable.
func varSet(k *kernel, c Caller, s []uint64) {
	if k.vars.limit < 0 {
		guests.Stop(errNoVars)
	}
	if !k.vars.set(string(k.at(s[0])), k.at(s[1]), s[1] != 0) {
		guests.Stop(errVars)
	}
}

// log is log_…(message): it writes a line to the log of the object.
func log(level int) func(k *kernel, c Caller, s []uint64) {
	return func(k *kernel, c Caller, s []uint64) {
		c.Log(c.Owner(), level, k.at(s[0]))
	}
}

// httpRequest is http_request(request, body) -> body. The request has the semantics of the
// step call. If no response arrives, the call of the plugin ends.
func httpRequest(k *kernel, c Caller, s []uint64) {
	var request struct {
		URL     string          `json:"url"`
		Method  string          `json:"method"`
		Headers json.RawMessage `json:"headers"`
	}
	var headers map[string]string
	if json.Unmarshal(k.at(s[0]), &request) != nil || functions.Headers(request.Headers, &headers) != nil {
		guests.Stop(errRequest)
	}
	wanted := &abi.Call{Target: abi.TargetHTTP, Method: request.Method, Path: request.URL, Headers: map[string][]string{}}
	if wanted.Method == "" {
		wanted.Method = "GET"
	}
	for name, value := range headers {
		wanted.Headers[name] = []string{value}
	}
	if body := k.at(s[1]); s[1] != 0 && len(body) > 0 {
		wanted.Body, wanted.Encoding = base64Text(body), abi.EncodingBase64
	}
	answer := c.Request(wanted)
	if answer.Error != nil {
		guests.Stop(errors.New(answer.Error.Message))
	}
	body := bytesOfBody(answer.Response)
	k.answer, k.headers = &abi.Response{Status: answer.Response.Status, Headers: answer.Response.Headers}, block{} // without the body, which the plugin gets
	if len(body) > k.maxBody {
		guests.Stop(fmt.Errorf("%w: a response of %d bytes; the limit is %d", guests.ErrMemory, len(body), k.maxBody))
	}
	s[0] = k.put(body)
}

func httpStatus(k *kernel, _ Caller, s []uint64) {
	s[0] = 0
	if k.answer != nil {
		s[0] = uint64(uint32(k.answer.Status))
	}
}

// httpHeaders is http_headers() -> an object with the first value of each header.
func httpHeaders(k *kernel, c Caller, s []uint64) {
	s[0] = 0
	if k.answer == nil {
		return
	}
	if k.headers.offset == 0 {
		first := map[string]string{}
		for name, values := range k.answer.Headers {
			if len(values) > 0 {
				first[strings.ToLower(name)] = values[0]
			}
		}
		text, err := json.Marshal(first)
		if err != nil {
			return
		}
		k.headers = block{k.put(text), uint64(len(text))}
	}
	s[0] = k.headers.offset
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
