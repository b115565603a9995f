// Package jsonlite reads and writes JSON in guests. encoding/json would add
// 1.4 MB to a module and take 160 µs per KB in a sandbox; here a body stays
// bytes, a path is found by skipping over what is not on it, and a value is
// decoded only when it is asked for.
//
// The conventions of encoding/json hold for types: the tag json with a name, "-",
// omitempty and omitzero, embedded structs, MarshalJSON and UnmarshalJSON,
// MarshalText and UnmarshalText, []byte as base64. Three things differ: names of
// fields match exactly, integers decode into any as int64, and there is no option
// "string".
//
// Functions that call each other for each level of a value are small and marked
// noinline: a compiler that makes one function of them adds up their variables,
// and stacks are short in TinyGo, see maxDepth.
package jsonlite

import "errors"

// ErrSyntax is a text that is not JSON.
var ErrSyntax = errors.New("malformed JSON")

// ErrDepth is a value that is nested too deeply, or contains itself.
var ErrDepth = errors.New("JSON value nested too deeply")

// Kind is the type of a JSON value.
type Kind byte

// Kinds of values. Missing is the kind of no value at all.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// kindNames are the names as error messages show them.
var kindNames = [...]string{"nothing", "null", "a boolean", "a number", "a string", "a list", "an object"}

// String is the name of the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k] }

// KindOf tells the kind of a value by its first character.
func KindOf(raw []byte) Kind {
	i := skipSpace(raw, 0)
	if i >= len(raw) {
		return Missing
	}
	switch raw[i] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}
