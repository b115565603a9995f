// Package functions holds the meaning of the host functions of the module kopf: limits,
// errors, and what reaches the Env. Each kind of guests passes arguments in its own way
// (addresses, messages, blocks of memory), and calls the same functions.
//
// See abi/SPEC.md, "Host functions".
package functions

import (
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/files"
)

// Limits of arguments, in bytes.
const (
	MaxKey   = 4 << 10  // of a name
	MaxEvent = 64 << 10 // of an event
	MaxMemo  = 1 << 20  // of a value in a memo, and of a key of an index
	MaxLine  = 64 << 10 // of a log line; the rest is dropped
	MaxCall  = 8 << 20  // of a request
)

// OK is the result of functions that return no length.
const OK = 0

// Guest is the guest that calls a function, as the running call presents it.
type Guest interface {
	// Task returns a task of the instance; nil for an unknown one.
	Task(id uint32) *Task

	// Config returns a value of the configuration, or of the secrets. The registration
	// cannot read secrets, because all instances share its outcome.
	Config(key string) (value string, found bool)

	// Log writes a line to the log of a task, or of the guest if the task is nil, unless the
	// guest has exceeded its limit of output.
	Log(t *Task, level int, line []byte)

	// Request makes a request for the task of the running call, and waits for the response.
	// It ends early with the call, or when the task is cancelled. Waiting does not count as
	// computing, and the limit of computing begins again.
	Request(call *abi.Call) abi.Answer

	// Owner returns the task of the running call; nil at the initialisation and the
	// registration.
	Owner() *Task
}

// Config returns a value of the configuration as a result.
func Config(g Guest, key string) (value []byte, code int64) {
	text, found := g.Config(key)
	if !found {
		return nil, abi.ErrnoAbsent
	}
	return []byte(text), OK
}

// File returns one of the files that are embedded in a module as a result. With an empty path, it returns the paths of all
// files, sorted, each with a line feed. The caller must not change the content.
func File(set *files.Set, path string) (content []byte, code int64) {
	if path == "" {
		return set.List(), OK
	}
	content, found := set.File(path)
	if !found {
		return nil, abi.ErrnoAbsent
	}
	return content, OK
}

// Key validates and copies a name.
func Key(text []byte) (key string, code int64) {
	switch {
	case len(text) > MaxKey:
		return "", abi.ErrnoTooLarge
	case !utf8.Valid(text):
		return "", abi.ErrnoInvalid
	}
	return string(text), OK
}

// Text copies a text of a guest, and replaces invalid UTF-8.
func Text(text []byte) string {
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
