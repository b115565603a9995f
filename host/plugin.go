package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// A plugin is a module that was built with a plugin development kit of Extism. It exchanges
// the messages of the ABI as one JSON document, without frames. The messages are in memory
// of the host, which the plugin accesses through functions. See abi/SPEC.md, "Plugins of
// Extism".

// Modules of the functions that plugins import.
const (
	pluginEnv  = "extism:host/env"
	pluginUser = "extism:host/user"
)

// typePlugin lists the types that functions of plugins may have.
var typePlugin = []string{"() -> i32", typeNothing}

// pluginContract lists the exports of a plugin, as contract does for others.
var pluginContract = []struct {
	name     string
	required bool
}{
	{abi.ExportRegister, true},
	{abi.ExportStart, true},
	{abi.ExportResume, false},
	{abi.ExportCancel, false},
	{abi.ExportRelease, false},
	{abi.ExportAsk, false},
	{abi.ExportTransform, false},
}

// isPlugin reports whether a module is an Extism plugin: it imports Extism's functions, or
// its exports have the types of plugin functions.
func isPlugin(source *prepare.Source) bool {
	for _, e := range source.Exports() {
		if _, ok := abi.VersionOfExport(e.Name); ok && e.Type == typeNothing {
			return false
		}
		if e.Name == abi.ExportRegister && slices.Contains(typePlugin, e.Type) {
			return true
		}
	}
	return slices.ContainsFunc(source.Imports(), func(i prepare.Import) bool { return i.Module == pluginEnv })
}

// checkPlugin refuses a plugin that does not fit this host.
func checkPlugin(source *prepare.Source) error {
	exports := map[string]string{}
	var functions []string
	for _, e := range source.Exports() {
		exports[e.Name] = e.Type
		if slices.Contains(typePlugin, e.Type) {
			functions = append(functions, e.Name)
		}
	}
	if exports[abi.ExportMemory] != "memory" {
		return fmt.Errorf("it does not export its memory")
	}
	for _, c := range pluginContract {
		switch found, ok := exports[c.name]; {
		case !ok && c.required:
			return fmt.Errorf("it is a plugin of Extism, but no Kopf guest: it exports %s, but not %s",
				strings.Join(slices.Concat(functions, []string{"no more"}), ", "), c.name)
		case ok && !slices.Contains(typePlugin, found):
			return fmt.Errorf("its export %s has the type %s instead of %s", c.name, found, typePlugin[0])
		}
	}
	return checkImports(source.Imports(), pluginEnv, pluginUser, wasiModule)
}

// initializers returns the exports of a plugin that prepare its language runtime, in the
// order of the calls. Their parameters are zeros. As in Extism's own hosts, hs_init of
// Haskell comes after _initialize, and __wasm_call_ctors is called only if both are missing.
func initializers(exported func(name string) bool) []initializer {
	first := initializer{name: abi.ExportInitialize}
	switch {
	case exported("hs_init"):
		return []initializer{first, {"hs_init", []uint64{0, 0}}}
	case !exported(first.name):
		return []initializer{{name: "__wasm_call_ctors"}}
	}
	return []initializer{first}
}

// initializer is an optional export that is called once.
type initializer struct {
	name   string
	params []uint64
}

// converse exchanges messages with a plugin: one input document, one output document. An
// error that the function returns is an error of the handler, not a failure of the guest.
func (c *call) converse(k *kernel, size int, write func(buf []byte), params []uint64) ([]byte, error) {
	message := make([]byte, size)
	write(message[:0:size])
	if fn := c.in.mod.ExportedFunction(c.export); fn == nil {
		return nil, c.fail(fmt.Errorf("%w: %s", ErrExport, c.export))
	}
	input, err := c.document(message, params)
	if err != nil {
		return nil, err
	}
	k.reset(input)
	defer k.forget()
	code, err := c.call(c.export)
	if err != nil {
		return nil, err
	}
	if failure := k.failure(int32(uint32(code))); failure != "" {
		return c.refused(failure)
	}
	output := k.result()
	if limit := c.options().MessageLimit; len(output) > limit {
		return nil, c.fail(fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrMessage, len(output), limit))
	}
	return output, nil
}

// document converts a message to the form of plugins. A frame becomes one object, in which
// the segments are fields next to those of the header.
func (c *call) document(message []byte, params []uint64) ([]byte, error) {
	if c.export == abi.ExportRegister {
		return message, nil
	}
	parts := []part{{"task", fmt.Append(nil, params[0])}}
	switch c.export {
	case abi.ExportTransform:
		return jsonObject(nil, append(parts, part{"body", message})), nil
	case abi.ExportStart, abi.ExportAsk:
		header, err := abi.FindSegment(message, abi.TagHeader)
		if err != nil {
			return nil, err
		}
		body, err := abi.FindSegment(message, abi.TagBody)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{"body", body})
		for _, s := range pluginSegments {
			parts = append(parts, part{s.name, c.owner.env.Segment(s.tag)})
		}
		return jsonObject(header, parts), nil
	}
	return jsonObject(message, parts), nil
}

// pluginSegments lists the segments that other guests fetch on demand. A plugin gets them
// with the message.
var pluginSegments = []struct {
	name string
	tag  uint32
}{{"old", abi.TagOld}, {"new", abi.TagNew}, {"diff", abi.TagDiff}, {"event", abi.TagEvent}}

// part is a field of a document.
type part struct {
	name  string
	value []byte // empty: absent
}

// jsonObject adds fields to the text of a JSON object.
func jsonObject(text []byte, parts []part) []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, p := range parts {
		if len(p.value) == 0 {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:", p.name)
		out.Write(p.value)
	}
	if rest := bytes.TrimSpace(text); len(rest) > 2 { // more than {}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(rest[1:])
	} else {
		out.WriteByte('}')
	}
	return out.Bytes()
}

// refused is the answer for a function that returned an error.
func (c *call) refused(message string) ([]byte, error) {
	failure := &abi.Error{Kind: abi.ErrorArbitrary, Type: "PluginError", Message: validText(message)}
	switch c.export {
	case abi.ExportStart, abi.ExportResume:
		return json.Marshal(abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Error: failure}})
	case abi.ExportTransform:
		return json.Marshal(abi.TransformResult{Error: failure})
	}
	return nil, c.fail(fmt.Errorf("%w: %s", errPlugin, failure.Message))
}

// errPlugin is the cause of a plugin function that returned an error outside a handler call.
var errPlugin = errors.New("the plugin returned an error")

// tell calls an export whose only parameter is the number of a task, and which has no
// result. The export is optional for plugins.
func (c *call) tell(task uint32) error {
	if p := c.in.program; p != nil {
		_, err := p.calls(c, task, nil)
		return err
	}
	k := c.in.kernel
	if k == nil {
		_, err := c.call(c.export, uint64(task))
		return err
	}
	if c.in.mod.ExportedFunction(c.export) == nil {
		return nil
	}
	k.reset(jsonObject(nil, []part{{"task", fmt.Append(nil, task)}}))
	defer k.forget()
	_, err := c.call(c.export)
	return err
}
