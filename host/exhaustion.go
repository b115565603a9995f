package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/frames"
	"github.com/kopf-wasm/kopf/host/functions"
)

// exhausted are parts of what guests say, or of the names of functions in which they trap, if an
// allocation fails: of Go and TinyGo, of Rust with and without the standard streams, of CPython, of
// C++, and of AssemblyScript.
var exhausted = []string{
	"out of memory", "memory allocation of ", "handle_alloc_error", "__rust_alloc_error_handler", "rust_oom", "MemoryError", "std::bad_alloc", "rowMemory",
}

// caught are the errors of scripts that say so, by their types. The guest continues.
var caught = map[string]string{"MemoryError": "", "InternalError": "out of memory"}

// What can show that an allocation has failed: some of the innermost frames, and the last lines
// on standard error.
const (
	alarmed  = 12
	saidLast = 3
)

// nameExhaustion says that memory is the reason of a trap, if it is: many guests only trap.
func (c *call) nameExhaustion(e *GuestError, text string) {
	reason, trace, _ := strings.Cut(text, "\n")
	said := strings.Join([]string{reason, e.Message, lastLines(functions.Text(c.stderr), saidLast), frames.Demangle(firstLines(trace, alarmed))}, "\n")
	if slices.ContainsFunc(exhausted, func(part string) bool { return strings.Contains(said, part) }) {
		e.Err = fmt.Errorf("%w: %w", e.Err, ErrMemory)
		e.Message = c.exhaustion(e.Message)
	}
}

// nameCaught says that memory is the reason of an error that a script has caught, if it is.
func (c *call) nameCaught(e *abi.Error) {
	if part, ok := caught[e.Type]; ok && e.Kind == abi.ErrorArbitrary && strings.Contains(e.Message, part) {
		e.Message = c.exhaustion(cmp.Or(e.Message, e.Type))
	}
}

// exhaustion is the message of a failure for want of memory.
func (c *call) exhaustion(message string) string {
	return fmt.Sprintf("%v: the instance uses %s, and the limit MaxMemory is %s: %s", ErrMemory, mebibytes(int(c.Memory().Size())), mebibytes(c.in.m.options.MaxMemory), message)
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
