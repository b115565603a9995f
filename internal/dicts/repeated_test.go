package dicts

import (
	"errors"
	"strings"
	"testing"
)

func TestUnrepeated(t *testing.T) {
	for text, want := range map[string]error{
		`{"a":1,"b":{"a":[{"a":1},{"a":1}]},"A":2}`: nil, ` 1 `: nil, `"\u00e9"`: nil, strings.Repeat("[", 500) + strings.Repeat("]", 500): nil,
		`{"a":1,"a":1}`: ErrRepeated, `[{"a":{"b":1,"c":2,"b":3}}]`: ErrRepeated, `{"a":1,"\u0061":1}`: ErrRepeated, `{"":1,"":1}`: ErrRepeated,
		``: errText, `{`: errText, `{} {}`: errText, "{\"\xff\":1}": errText, `{"a" 1}`: errText, strings.Repeat("[", 2000) + strings.Repeat("]", 2000): errText,
	} {
		if err := Unrepeated([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.60s: %v, want %v", text, err, want)
		}
	}
}
