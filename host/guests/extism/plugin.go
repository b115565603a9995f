// Package extism is the kind of guests that were built with a plugin development kit of
// Extism. A plugin exchanges the messages of the ABI as one JSON document, without frames.
// The messages are in memory of the host, which the plugin accesses through functions.
//
// See abi/SPEC.md, "Plugins of Extism".
package extism

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/imports"
)

// Limits bound what a plugin uses in the memory of the host, in bytes.
type Limits struct {
	Message   int // one answer
	Variables int // all variables of an instance; negative: none can be set
	Response  int // the body of a response; negative: only empty bodies

	Memory Memory // what all instances have together; nil: no bound
}

// Memory is a bound of memory that several instances share.
type Memory interface {
	// Take counts more bytes, unless there is no room for them.
	Take(bytes int) error

	// Give gives bytes back.
	Give(bytes int)
}

// plugin is one instance of a plugin.
type plugin struct {
	kernel kernel
	limits Limits
}

// New returns the guest of one instance.
func New(limits Limits) guests.Guest {
	limits.Response = max(0, limits.Response)
	return &plugin{limits: limits, kernel: kernel{limit: 4*limits.Message + limits.Response, vars: variables{limit: limits.Variables, memory: limits.Memory}, maxBody: limits.Response, memory: limits.Memory}}
}

// Caller is the running call, as the functions of plugins use it.
type Caller interface {
	functions.Guest

	// Guest returns the guest of the instance: the one that New returned.
	Guest() guests.Guest

	// Wait waits until the function done reports true, and at most for the duration. It ends
	// early with the context of the call. Waiting does not count as computing, and the limit
	// of computing begins again.
	Wait(d time.Duration, done func() bool)
}

// function returns a host function on the memory of the call.
func function(typ string, do func(k *kernel, c Caller, stack []uint64)) imports.Function[Caller] {
	return imports.Func(typ, func(c Caller, stack []uint64) { do(&c.Guest().(*plugin).kernel, c, stack) })
}

// Initializers implements guests.Guest. The parameters are zeros. As in Extism's own hosts,
// hs_init of Haskell comes after _initialize, and __wasm_call_ctors is called only if both
// are missing.
func (p *plugin) Initializers(exported func(name string) bool) []guests.Initializer {
	p.kernel.reset(nil) // the runtime of the plugin may use memory
	first := guests.Initializer{Name: abi.ExportInitialize}
	switch {
	case exported("hs_init"):
		return []guests.Initializer{first, {Name: "hs_init", Params: []uint64{0, 0}}}
	case !exported(first.Name):
		return []guests.Initializer{{Name: "__wasm_call_ctors"}}
	}
	return []guests.Initializer{first}
}

// Exchange implements guests.Guest: one input document, one output document. An error that
// the function returns is an error of the handler, not a failure of the guest.
func (p *plugin) Exchange(c guests.Call, m guests.Message) ([]byte, error) {
	if !c.Exports(c.Export()) {
		return nil, c.Fail(fmt.Errorf("%w: %s", guests.ErrExport, c.Export()))
	}
	k := &p.kernel
	defer k.forget()
	if !k.reset(document(c, m)) {
		return nil, c.Fail(errTogether)
	}
	code, err := c.Run(c.Export())
	if err != nil {
		return nil, err
	}
	if failure := k.failure(int32(uint32(code))); failure != "" {
		return refused(c, failure)
	}
	output := k.result()
	if len(output) > p.limits.Message {
		return nil, c.Fail(fmt.Errorf("%w: it has %d bytes, the limit is %d", guests.ErrMessage, len(output), p.limits.Message))
	}
	return output, nil
}

// Tell implements guests.Guest. The export is optional.
func (p *plugin) Tell(c guests.Call, task uint32) error {
	if !c.Exports(c.Export()) {
		return nil
	}
	defer p.kernel.forget()
	if !p.kernel.reset(jsonObject(nil, []part{{"task", fmt.Append(nil, task)}})) {
		return c.Fail(errTogether)
	}
	_, err := c.Run(c.Export())
	return err
}

// Free gives back the memory of an instance that ends.
func (p *plugin) Free() {
	p.kernel.uncount()
	p.kernel.vars.free()
}

// refused is the answer for a function that returned an error.
func refused(c guests.Call, message string) ([]byte, error) {
	failure := &abi.Error{Kind: abi.ErrorArbitrary, Type: "PluginError", Message: functions.Text([]byte(message))}
	switch c.Export() {
	case abi.ExportStart, abi.ExportResume:
		return json.Marshal(abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Error: failure}})
	case abi.ExportTransform:
		return json.Marshal(abi.TransformResult{Error: failure})
	}
	return nil, c.Fail(fmt.Errorf("%w: %s", errPlugin, failure.Message))
}

// errPlugin is the cause of a plugin function that returned an error outside a handler call.
var errPlugin = errors.New("the plugin returned an error")
