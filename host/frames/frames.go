// Package frames makes the stacks of guests legible: names of Rust are as in the source, and
// neighbouring frames of SDKs and runtimes are one line, so that the frames of the author remain.
//
// Stacks are texts of guests. Nothing here trusts them.
package frames

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fold returns a stack without runs of frames that are not the author's: a line counts them. A
// stack without any frame of the author is returned whole, because the reason is in it. Goroutines
// of Go's runtime, which do nothing for the author, are left out.
func Fold(stack string) string {
	out := &folder{}
	for line := range strings.SplitSeq(stack, "\n") {
		switch kind := kindOf(line, out.inside); kind {
		case foreign:
			out.frames++
			out.hidden = append(out.hidden, line)
		case rest:
			out.hidden = append(out.hidden, line)
		case own, other:
			out.show()
			out.lines = append(out.lines, line)
			out.own = out.own || kind == own
		}
		out.inside = len(out.hidden) > 0
	}
	out.show()
	if !out.own {
		return stack
	}
	return withoutIdle(strings.Join(out.lines, "\n"))
}

// idle is a goroutine without a frame of the author, in a folded stack.
var idle = regexp.MustCompile(`^goroutine \d+ [^\n]*:\n… \d+ frames of the SDK$`)

// withoutIdle leaves out goroutines of the runtime.
func withoutIdle(stack string) string {
	paragraphs := strings.Split(stack, "\n\n")
	return strings.Join(slices.DeleteFunc(paragraphs, idle.MatchString), "\n\n")
}

// folder collects the lines of a folded stack.
type folder struct {
	lines  []string
	hidden []string // of the present run
	frames int      // in hidden
	inside bool     // the last line is hidden
	own    bool     // there is a frame of the author
}

// show ends a run. A run of one frame is shown, because a line that counts it is not shorter.
func (f *folder) show() {
	if f.frames > 1 {
		f.lines = append(f.lines, fmt.Sprintf("… %d frames of the SDK", f.frames))
	} else {
		f.lines = append(f.lines, f.hidden...)
	}
	f.hidden, f.frames = nil, 0
}

// kind is what a line of a stack is.
type kind int

const (
	other   kind = iota // no frame: a message, a header, an empty line
	own                 // a frame of the author
	foreign             // a frame of an SDK or of a runtime
	rest                // a further line of the frame before
)

// kindOf returns the kind of a line. Inside means that the line before it is hidden.
func kindOf(line string, inside bool) kind {
	if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") { // a file and a line
		if inside {
			return rest
		}
		return own
	}
	name, isFrame := nameOf(line)
	switch {
	case !isFrame:
		return other
	case isForeign(name):
		return foreign
	}
	return own
}

// nameOf returns the name of the function of a frame: main.run(0x1, 0x2) of Go, and
// .main.run(i32) i64 or operator.wasm.main.run(i32) of the engine.
func nameOf(line string) (name string, ok bool) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "created by "), ".")
	open := strings.LastIndexByte(line, '(')
	if open < 0 {
		name, _, ok = strings.Cut(line, " in goroutine ") // created by main.f in goroutine 1
		return name, ok
	}
	if rest := line[open:]; !strings.Contains(rest, ")") || strings.HasSuffix(rest, ":") {
		return "", false
	}
	return line[:open], open > 0 && !strings.ContainsAny(line[:1], " \t\"'`[")
}

// foreignNames begin the names of functions that are not the author's.
var foreignNames = []string{
	// Go, and its names in the name section of WebAssembly.
	"runtime.", "runtime/", "internal/", "internal_", "syscall.", "syscall/", "_rt0_", "wasm_pc_f_loop", "callRet", "iter.Pull",
	"github.com/kopf-wasm/kopf/guest-sdks/go/", "github.com_kopf_wasm_kopf_guest_sdks_go_",
	// Rust.
	"kopf::", "kopf_abi::", "core::", "std::", "alloc::", "rust_begin_unwind", "rust_panic", "__rust", "__rustc::", "__rg_", "__rdl_",
	// What the host exports and imports.
	"kopf_start", "kopf_resume", "kopf_register", "kopf_answer", "kopf_cancel", "kopf:host.", "wasi_snapshot_preview1.",
}

// isForeign reports whether a function is of an SDK or of a runtime: also a method of such a type,
// as in <core::cell::RefCell<T>>::borrow_mut.
func isForeign(name string) bool {
	name = strings.TrimLeft(name, "<&*(")
	for _, begin := range foreignNames {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return name == "panic"
}
