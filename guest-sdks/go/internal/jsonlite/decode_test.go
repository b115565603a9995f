package jsonlite

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

type meta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

type embedded struct {
	Kind  string `json:"kind"`
	Inner *meta  `json:"inner,omitempty"`
}

type level string

// everything has a field of each kind that is understood.
type everything struct {
	embedded
	*meta
	Bool     bool            `json:"bool"`
	Int      int             `json:"int"`
	Int8     int8            `json:"int8"`
	Uint16   uint16          `json:"uint16"`
	Float    float64         `json:"float"`
	Float32  float32         `json:"float32"`
	Level    level           `json:"level"`
	Text     *string         `json:"text"`
	Bytes    []byte          `json:"bytes"`
	Any      any             `json:"any"`
	List     []meta          `json:"list"`
	Array    [2]int          `json:"array"`
	Map      map[level]int   `json:"map"`
	Time     time.Time       `json:"time"`
	Raw      json.RawMessage `json:"raw"`
	Number   json.Number     `json:"number"`
	Untagged int
	Ignored  int `json:"-"`
	hidden   int
	Empty    string    `json:"empty,omitempty"`
	Zero     time.Time `json:"zero,omitzero"`
}

const everythingText = `{"kind": "K", "inner": {"name": "i"}, "name": "n", "labels": {"a": "b"}, "bool": true, "int": -5,
	"int8": 127, "uint16": 65535, "float": 1.5, "float32": 2, "level": "high", "text": "x\ty", "bytes": "aGk=",
	"any": {"list": [1, "two", null]}, "list": [{"name": "a"}, {"name": "b", "unknown": 1}], "array": [1, 2],
	"map": {"x": 1}, "time": "2020-01-01T00:00:00Z", "raw": {"as": "is"}, "number": 9007199254740993.50, "Untagged": 7, "Ignored": 8, "hidden": 9, "unknown": {}}`

func TestDecodeLikeTheStandardLibrary(t *testing.T) {
	var got, want everything
	got.meta, want.meta = &meta{}, &meta{} // neither can make unexported ones
	if err := Decode([]byte(everythingText), &got, ""); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(everythingText), &want); err != nil {
		t.Fatal(err)
	}
	want.Any = map[string]any{"list": []any{int64(1), "two", nil}} // here we differ
	if got.hidden != 0 || got.Ignored != 0 {
		t.Error("fields without a name in JSON are decoded")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeKeepsWhatIsNotSaid(t *testing.T) {
	text := "kept"
	got := everything{Int: 1, Level: "kept", Text: &text, List: []meta{{Name: "kept"}}}
	want := got
	if err := Decode([]byte(`{"int": null, "list": null, "text": null}`), &got, ""); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := Decode(nil, &got, ""); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("nothing at all changed it: %v, %+v", err, got)
	}
}

func TestDecodeErrors(t *testing.T) {
	type spec struct {
		Size  int8             `json:"size"`
		Count uint             `json:"count"`
		Ratio float32          `json:"ratio"`
		Items []meta           `json:"items"`
		Pair  [2]int           `json:"pair"`
		Map   map[string]int   `json:"map"`
		Bytes []byte           `json:"bytes"`
		Time  time.Time        `json:"time"`
		Flag  bool             `json:"flag"`
		Chan  chan int         `json:"chan"`
		Err   error            `json:"err"`
		Keys  map[int]string   `json:"keys"`
		Deep  map[string][]any `json:"deep"`
	}
	tests := []struct{ name, text, want string }{
		{"wrong type", `{"size": "5"}`, `spec.size: want an integer, got a string`},
		{"overflow", `{"size": 300}`, `spec.size: want an integer, got 300`},
		{"fraction", `{"size": 1.5}`, `spec.size: want an integer, got 1.5`},
		{"negative", `{"count": -1}`, `spec.count: want an integer that is not negative, got -1`},
		{"no number", `{"ratio": true}`, `spec.ratio: want a number, got a boolean`},
		{"no list", `{"items": {}}`, `spec.items: want a list, got an object`},
		{"no object", `{"items": [{"name": "a"}, 5]}`, `spec.items[1]: want an object, got a number`},
		{"in a list", `{"items": [{"name": "a"}, {"labels": {"x": 1}}]}`, `spec.items[1].labels.x: want a string, got a number`},
		{"too long", `{"pair": [1, 2, 3]}`, `spec.pair: want a list of 2, got a longer one`},
		{"in a map", `{"map": {"a": []}}`, `spec.map.a: want an integer, got a list`},
		{"base64", `{"bytes": "*"}`, `spec.bytes: malformed base64`},
		{"own decoder", `{"time": 5}`, `spec.time: Time.UnmarshalJSON: input is not a JSON string`},
		{"no boolean", `{"flag": "true"}`, `spec.flag: want a boolean, got a string`},
		{"impossible type", `{"chan": 1}`, `spec.chan: want nothing (type chan int), got a number`},
		{"interface", `{"err": "x"}`, `spec.err: want a type without methods, got a string`},
		{"keys", `{"keys": {"1": "x"}}`, `spec.keys: want nothing (keys of maps must be strings), got an object`},
		{"malformed", `{"deep": {"a": [1 2]}}`, `spec.deep.a: malformed JSON`},
		{"cut", `{"size": 1`, `spec: malformed JSON`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Decode([]byte(tt.text), &spec{}, "spec")
			var decodeErr *DecodeError
			if !errors.As(err, &decodeErr) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestDecodeNeedsAPointer(t *testing.T) {
	for _, target := range []any{nil, 5, (*int)(nil), everything{}} {
		if err := Decode([]byte(`1`), target, ""); err == nil {
			t.Errorf("decoded into %#v", target)
		}
	}
}
