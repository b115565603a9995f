package jsonlite

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

func TestEncodeLikeTheStandardLibrary(t *testing.T) {
	text := "x"
	full := everything{
		embedded: embedded{Kind: "K", Inner: &meta{Name: "i"}}, meta: &meta{Name: "n"}, Text: &text, Int: 5,
		Bytes: []byte("hi"), Any: []any{1.5, nil, true, map[string]any{"b": 1, "a": 2}}, List: []meta{{Name: "a", Labels: map[string]string{"x": "y"}}},
		Map: map[level]int{"z": 1, "y": 2}, Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Raw: json.RawMessage(`{"as":"is"}`),
	}
	tests := []struct {
		name  string
		value any
	}{
		{"nil", nil},
		{"struct", full},
		{"pointer", &full},
		{"zero struct", everything{Raw: json.RawMessage("1")}},
		{"strings", []string{"", "a\"b\\c", "\x00\x1f\n\r\t", "é😀", "bad \xff utf8", "\u2028"}},
		{"floats", []float64{0, -0.5, 1e20, 1e21, 1e-6, 1e-7, 123456789, math.MaxFloat64}},
		{"integers", []any{int8(-1), uint64(math.MaxUint64), int64(math.MinInt64), uintptr(5)}},
		{"nil map", map[string]int(nil)},
		{"nil list", []int(nil)},
		{"empty list", []int{}},
		{"array", [3]bool{true}},
		{"nil pointer", (*meta)(nil)},
		{"nested pointers", []*meta{nil, {Name: "x"}}},
		{"raw", abi.Raw(`[1]`)},
		{"no raw", abi.Raw(nil)},
		{"numbers as written", []any{json.Number("9007199254740993"), json.Number("-1e5"), struct{ N json.Number }{"1.50"}}},
		{"own form", []any{time.Duration(5), abi.DelayOf(1.5), &abi.Delay{Said: true, None: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Encode(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if canonical(t, got) != canonical(t, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// canonical brings a text into one form: encoding/json escapes more characters.
func canonical(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestEncodeIsCompactAndSorted(t *testing.T) {
	got, err := Encode(map[string]any{"b": []any{}, "a": map[string]int{"z": 1, "y": 2}, "<": "<&>"})
	if want := `{"<":"<&>","a":{"y":2,"z":1},"b":[]}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func TestEncodeErrors(t *testing.T) {
	type loop struct{ Next *loop }
	endless := &loop{}
	endless.Next = endless
	own := map[string]any{}
	own["own"] = own
	tests := []struct {
		name  string
		value any
		want  error
	}{
		{"function", func() {}, errEncode},
		{"channel", map[string]any{"x": make(chan int)}, errEncode},
		{"not a number", math.NaN(), errEncode},
		{"infinity", []float32{float32(math.Inf(1))}, errEncode},
		{"keys", map[int]int{1: 1}, errEncode},
		{"pointer to itself", endless, ErrDepth},
		{"map in itself", own, ErrDepth},
		{"own form is not JSON", json.RawMessage("{"), ErrSyntax},
	}
	for _, tt := range tests {
		if _, err := Encode(tt.value); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func FuzzStrings(f *testing.F) {
	for _, seed := range []string{"", "plain", "q\"\\\x00\u2028", "\xff\xfe", "😀é", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString(nil, s)
		var want string
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q is written as %s: %v", s, text, err)
		}
		if got := Unquote(text); got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	})
}
