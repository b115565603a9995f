package jsonlite

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAny(t *testing.T) {
	tests := []struct {
		text string
		want any
	}{
		{`null`, nil},
		{` true `, true},
		{`false`, false},
		{`0`, int64(0)},
		{`-12`, int64(-12)},
		{`9223372036854775807`, int64(9223372036854775807)},
		{`9223372036854775808`, float64(9223372036854775808)},
		{`1.0`, 1.0},
		{`-0.5e-3`, -0.0005},
		{`1E5`, 1e5},
		{`""`, ""},
		{`"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, "a\"\\/\b\f\n\r\té😀"},
		{`"\ud83dx"`, "\uFFFDx"},
		{`[]`, []any{}},
		{`[ 1 , [ ] , {} ]`, []any{int64(1), []any{}, map[string]any{}}},
		{`{"a": {"b": [null]}, "": 1}`, map[string]any{"a": map[string]any{"b": []any{nil}}, "": int64(1)}},
	}
	for _, tt := range tests {
		got, err := Any([]byte(tt.text))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s is %#v (%v), want %#v", tt.text, got, err, tt.want)
		}
	}
}

func TestAnyMalformed(t *testing.T) {
	tests := []string{
		``, ` `, `nul`, `nulls`, `+1`, `01`, `1.`, `.5`, `1e`, `1e+`, `--1`, `0x1`, `NaN`, `1 2`, `"a`, `'a'`,
		`[1,]`, `[,]`, `[1 2]`, `[1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1]`, `[`, `{`, `]`, `{"a":1}x`,
		strings.Repeat("[", 100_000),
	}
	for _, text := range tests {
		if got, err := Any([]byte(text)); err == nil {
			t.Errorf("%.20s is %#v, want an error", text, got)
		}
	}
}

// FuzzAny accepts what encoding/json accepts, and decodes it to the same.
func FuzzAny(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,-3e7,"x\n",null,true]}`, `[1,]`, `"\ud800"`, `-0`, `1e999`, `"\x"`, "\"\n\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var inRange any // numbers beyond float64 are refused by both
		if !utf8.Valid(text) || json.Valid(text) && json.Unmarshal(text, &inRange) != nil {
			return
		}
		got, err := Any(text)
		if valid := json.Valid(text); valid != (err == nil) {
			t.Fatalf("%q: %v, but it is valid: %v", text, err, valid)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var want any
		if decoder.Decode(&want) == nil && err == nil && !equalNumbers(got, want) {
			t.Errorf("%q is %#v, want %#v", text, got, want)
		}
	})
}

// equalNumbers compares a value of ours with one that has numbers as texts.
func equalNumbers(got, want any) bool {
	switch want := want.(type) {
	case json.Number:
		if n, ok := got.(int64); ok {
			exact, err := want.Int64()
			return err == nil && exact == n
		}
		f, err := want.Float64()
		return err == nil && got == f
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !equalNumbers(list[i], want[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return false
		}
		for key := range want {
			if !equalNumbers(object[key], want[key]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}
