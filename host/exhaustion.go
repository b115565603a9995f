package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/frames"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// outOfMemory are parts of what guests say, or of the names of functions in which they trap, if an
// allocation fails that has not asked the engine for memory: of Go and TinyGo, of Rust with and
// without the standard streams, of CPython, of C++, and of AssemblyScript.
var outOfMemory = []string{
	"out of memory", "memory allocation of ", "handle_alloc_error", "__rust_alloc_error_handler", "rust_oom", "MemoryError", "std::bad_alloc", "rowMemory",
}

// caught are the errors of scripts that say so, by their types. The guest continues.
var caught = map[string]string{"MemoryError": "", "InternalError": "out of memory"}

// speechless are what scripts say, by its type, if they have no memory for an error, or if their authors want it: QuickJS throws
// null, and its library fails when it reads the error.
var speechless = map[string]string{"Error": "null", "TypeError": "the error of the handler cannot be read"}

// What can show that an allocation has failed: some of the innermost frames, and the last lines
// on standard error.
const (
	alarmed  = 12
	saidLast = 3
)

// nameExhaustion says that memory is the reason of a trap, if it is: many guests only trap. In any
// language, it is if the instance did not get the memory that it has asked for last.
func (c *call) nameExhaustion(e *GuestError, text string) {
	reason, trace, _ := strings.Cut(text, "\n")
	said := strings.Join([]string{reason, e.Message, lastLines(functions.Text(c.stderr), saidLast), frames.Demangle(firstLines(trace, alarmed))}, "\n")
	if c.refused() > 0 || slices.ContainsFunc(outOfMemory, func(part string) bool { return strings.Contains(said, part) }) {
		e.Err = fmt.Errorf("%w: %w", e.Err, ErrMemory)
		e.Message = c.exhaustion(e.Message)
	}
}

// nameCaught says that memory is the reason of an error that a script has caught, if it is. The
// memory of native programs is not the host's matter.
func (c *call) nameCaught(e *abi.Error) {
	class, _, _ := strings.Cut(e.Type, "(") // without a message, the type is the error with its arguments
	part, known := caught[class]
	known = known && strings.Contains(e.Message, part)
	nothing, silent := speechless[e.Type]
	silent = silent && e.Message == nothing
	if e.Kind == abi.ErrorArbitrary && (known || silent && c.refused() > 0) && c.in.mod != nil {
		e.Type, e.Message = class, c.exhaustion(cmp.Or(e.Message, class))
	}
}

// starved reports whether a guest waits for nothing because it has no memory left: an interpreter loses what should continue
// if it has no memory to remember it, and says only that there is nothing to do.
func (c *call) starved(step *abi.Step) bool {
	return step.Step == abi.StepWait && step.Seconds == nil && !step.Stoppable && c.refused() > 0
}

// starvation ends such a call.
func (c *call) starvation() error {
	e, _ := c.failure(ErrMemory)
	e.Message = c.exhaustion("the handler waits for nothing")
	return c.end(e, "")
}

// exhaustion is the message of a failure for want of memory.
func (c *call) exhaustion(message string) string {
	used, wanted, limit := int(c.Memory().Size()), c.refused(), c.in.m.options.MaxMemory
	text := fmt.Sprintf("%v: the instance uses %s", ErrMemory, mebibytes(used))
	if wanted > 0 {
		text += fmt.Sprintf(", asks for %s more", mebibytes(wanted))
	}
	text += ", and the limit MaxMemory is " + mebibytes(limit)
	if wanted > 0 && used+wanted <= limit {
		text += "; all instances together have reached the limit InstanceMemory, or the operators of the namespace or the system get no more"
	}
	return text + ": " + message
}

// refused is the memory that the instance has asked for last, in bytes; 0: it got it, or asks
// the system.
func (c *call) refused() int {
	if c.in.mod == nil {
		return 0
	}
	pages := c.in.mod.ExportedGlobal(prepare.Refused)
	if pages == nil {
		return 0
	}
	return int(uint32(pages.Get())) * wasmPage
}

// lastLines returns the last lines of a text.
func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// firstLines returns the first lines of a text.
func firstLines(text string, count int) string {
	lines := strings.SplitN(text, "\n", count+1)
	return strings.Join(lines[:min(count, len(lines))], "\n")
}

// mebibytes is a size in messages.
func mebibytes(size int) string { return fmt.Sprintf("%.1f MiB", float64(size)/(1<<20)) }
