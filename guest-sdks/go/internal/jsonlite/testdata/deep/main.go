// Package main is a module that decodes and encodes values of any depth: test/tinygo
// measures how much of a stack it takes.
package main

import (
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// begin and end are around what is measured.
//
//go:wasmimport test begin
func begin()

//go:wasmimport test end
func end(failed uint32)

// deep is a type that takes values of any depth.
type deep struct {
	Next  *deep           `json:"next,omitempty"`
	Named map[string]deep `json:"named,omitempty"`
	List  []deep          `json:"list,omitempty"`
	Any   any             `json:"any,omitempty"`
}

// ways are the ways down: what begins and ends a level.
var ways = [...]struct {
	opening, closing string
	typed            bool
}{
	{`{"a":`, `}`, false},
	{`[`, `]`, false},
	{`{"next":`, `}`, true},
	{`{"named":{"k":`, `}}`, true},
	{`{"list":[`, `]}`, true},
	{`{"any":`, `}`, true},
}

// run decodes a text with so many levels, or encodes what was decoded, in a goroutine of its own.
//
//go:wasmexport run
func run(way, levels, encode uint32) {
	done := make(chan struct{})
	go func() {
		how := ways[way]
		text := []byte(strings.Repeat(how.opening, int(levels)) + "{}" + strings.Repeat(how.closing, int(levels)))
		if encode != 0 {
			value, _ := decode(text, how.typed)
			measure(func() error {
				_, err := jsonlite.Encode(value)
				return err
			})
		} else {
			measure(func() error {
				_, err := decode(text, how.typed)
				return err
			})
		}
		close(done) // here, TinyGo looks whether the stack was large enough
	}()
	<-done
}

func decode(text []byte, typed bool) (any, error) {
	if !typed {
		return jsonlite.Any(text)
	}
	var value deep
	err := jsonlite.Decode(text, &value, "")
	return value, err
}

func measure(work func() error) {
	begin()
	failed := uint32(0)
	if work() != nil {
		failed = 1
	}
	end(failed)
}

// count is the number of ways down.
//
//go:wasmexport ways
func count() uint32 { return uint32(len(ways)) }

func main() {}
