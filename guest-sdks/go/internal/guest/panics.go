package guest

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Try calls a function, and returns its panic as an arbitrary error; nil if it
// returned.
func Try(fn func()) (failed *abi.Error) {
	defer func() {
		if p := recover(); p != nil {
			failed = panicError(p)
		}
	}()
	fn()
	return nil
}

// exited is the outcome of a handler whose goroutine ended without a return or a
// panic: by runtime.Goexit, as testing.T.FailNow does.
func exited() Done {
	return Done{Outcome: abi.Outcome{Error: arbitrary("the goroutine of the handler ended without a return")}}
}

// panicError describes a panic with its stack.
func panicError(p any) *abi.Error {
	message, name := "", "nil"
	switch p := p.(type) {
	case error:
		message = p.Error()
	case string:
		message = p
	default:
		if text, err := jsonlite.Encode(p); err == nil {
			message = string(text)
		}
	}
	if t := reflect.TypeOf(p); t != nil {
		name = t.String()
	}
	return &abi.Error{Kind: abi.ErrorArbitrary, Message: "panic: " + message, Type: name, Stack: stack()}
}

// maxStack is the longest stack in bytes that is reported.
const maxStack = 16 << 10

// stack is the stack of the goroutine below its panic.
func stack() string {
	buf := make([]byte, maxStack)
	text := string(buf[:runtime.Stack(buf, false)])
	header, _, _ := strings.Cut(text, "\n")
	_, below, found := strings.Cut(text, "\npanic(")
	if !found {
		return text
	}
	if _, below, found = strings.Cut(below, "\n\t"); found {
		_, below, _ = strings.Cut(below, "\n")
	}
	return header + "\n" + below
}
