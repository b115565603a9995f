package jsonlite

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// deep is a type that takes values of any depth.
type deep struct {
	Next  *deep           `json:"next,omitempty"`
	Named map[string]deep `json:"named,omitempty"`
	List  []deep          `json:"list,omitempty"`
	Any   any             `json:"any,omitempty"`
}

// text is a value with so many levels around an empty object.
func text(opening, closing string, levels int) []byte {
	return []byte(strings.Repeat(opening, levels) + "{}" + strings.Repeat(closing, levels))
}

// TestDeepestValue tries each way down with the deepest value that it takes, and with one level more.
func TestDeepestValue(t *testing.T) {
	tests := []struct {
		name             string
		opening, closing string
		each, more       int // levels of one repetition, and of the rest
		decode           func(text []byte) (any, error)
	}{
		{"objects", `{"a":`, `}`, 1, 1, Any},
		{"lists", `[`, `]`, 1, 1, Any},
		{"pointers", `{"next":`, `}`, 2, 1, decodeDeep},
		{"maps", `{"named":{"k":`, `}}`, 2, 1, decodeDeep},
		{"slices", `{"list":[`, `]}`, 2, 1, decodeDeep},
		{"values of any type", `{"any":`, `}`, 1, 2, decodeDeep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			levels := (maxDepth - tt.more) / tt.each
			value, err := tt.decode(text(tt.opening, tt.closing, levels))
			if err != nil {
				t.Fatalf("%d levels are refused: %v", levels, err)
			}
			if _, err := Encode(value); err != nil && tt.name != "values of any type" { // encoding counts them twice
				t.Errorf("what was decoded is not encoded: %v", err)
			}
			if _, err := tt.decode(text(tt.opening, tt.closing, levels+1)); !errors.Is(err, ErrDepth) {
				t.Errorf("%d levels: error %v, want %v", levels+1, err, ErrDepth)
			}
		})
	}
}

func decodeDeep(text []byte) (any, error) {
	var value deep
	err := Decode(text, &value, "")
	return value, err
}

// written writes itself as a text.
type written string

// MarshalJSON is the text.
func (w written) MarshalJSON() ([]byte, error) { return []byte(w), nil }

// TestDeepestEncoding encodes what no decoder has made.
func TestDeepestEncoding(t *testing.T) {
	within := func(value any, levels int) any {
		for range levels {
			value = []any{value}
		}
		return value
	}
	structs := func(levels int) *deep {
		var value *deep
		for range levels {
			value = &deep{Next: value}
		}
		return value
	}
	tests := []struct {
		name  string
		value any
		fails bool
	}{
		{"lists", within(nil, maxDepth-1), false},
		{"too many lists", within(nil, maxDepth), true},
		{"structs", structs((maxDepth - 1) / 2), false},
		{"too many structs", structs(maxDepth), true},
		{"a text inside", within(abi.Raw(text("[", "]", maxDepth)), 3), false}, // it is copied
		{"a type that writes itself", within(written(text("[", "]", maxDepth/2)), maxDepth/2-2), false},
		{"a type that writes too much", within(written(text("[", "]", maxDepth/2)), maxDepth/2+2), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Encode(tt.value); (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}
