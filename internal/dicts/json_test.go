package dicts_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// The expected texts are those of json.dumps(json.loads(…), separators=(',', ':')).
func TestEncodeAsPython(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"scalars", `[null, true, false, "", {}, []]`, `[null,true,false,"",{},[]]`},
		{"ints", `[0, -0, 1, -12, 9223372036854775808, 100000000000000000000]`, `[0,0,1,-12,9223372036854775808,100000000000000000000]`},
		{"floats", `[0.0, -0.0, 1.0, 1.50, 0.1, 1e0, 1E3, 123456789.125]`, `[0.0,-0.0,1.0,1.5,0.1,1.0,1000.0,123456789.125]`},
		{"large floats", `[1e15, 1e16, 1.5e+16, 1e22, 123456789012345680.0]`, `[1000000000000000.0,1e+16,1.5e+16,1e+22,1.2345678901234568e+17]`},
		{"small floats", `[0.001, 1e-4, 0.00001, 1.5e-7, 5e-324, 2.2250738585072014e-308]`, `[0.001,0.0001,1e-05,1.5e-07,5e-324,2.2250738585072014e-308]`},
		{"rounded floats", `[0.30000000000000004, 0.3000000000000000166, 1.7976931348623157e308]`, `[0.30000000000000004,0.3,1.7976931348623157e+308]`},
		{"beyond floats", `[1e999, -1e999, 1e-999]`, `[Infinity,-Infinity,0.0]`},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0000\u001f"`, `"\"\\/\b\f\n\r\t\u0000\u001f"`},
		{"no escapes for HTML", `"</script>&'"`, `"</script>&'"`},
		{"beyond ASCII", `"\u007f~é€\u2028\ufffd"`, `"\u007f~\u00e9\u20ac\u2028\ufffd"`},
		{"surrogates", `"😀\ud83d\ude00𐀀"`, `"\ud83d\ude00\ud83d\ude00\ud800\udc00"`},
		{"mixed text", `"aé\nb\"c"`, `"a\u00e9\nb\"c"`},
		{"sorted keys", `{"b": 1, "a": {"ü": 1, "Z": 2, "a": 3}}`, `{"a":{"Z":2,"a":3,"\u00fc":1},"b":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(dicts.Encode(decode(t, test.in))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestLongNumbers: a guest can send an int of 8 MB.
func TestLongNumbers(t *testing.T) {
	digits := strings.Repeat("7", 8<<20)
	began := time.Now()
	if got := dicts.Encode(json.Number("-" + digits)); string(got) != "-"+digits {
		t.Errorf("it is encoded in %d bytes", len(got))
	}
	if !dicts.Equal(json.Number(digits), json.Number(digits)) || dicts.Equal(json.Number(digits), json.Number(digits[1:]+"8")) || dicts.Equal(json.Number(digits), json.Number("1e308")) {
		t.Error("equal ints differ, or different numbers are equal")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it takes %v", took)
	}
	if big := json.Number("1" + strings.Repeat("0", 22)); !dicts.Equal(big, json.Number("1e22")) || dicts.Equal(big, json.Number("1e23")) {
		t.Error("an int is not compared with floats by its value")
	}
	if got := string(dicts.Encode([]any{json.Number("x"), json.Number("-99999999999999999999x"), json.Number("")})); got != "[null,null,null]" {
		t.Errorf("what is no number is %s", got)
	}
}

func TestEncodeGoValues(t *testing.T) {
	doc := dicts.Members{{Key: "z", Value: 1}, {Key: "a", Value: dicts.Members{}}, {Key: "m", Value: int64(-5)}, {Key: "f", Value: 2.0}, {Key: "other", Value: struct{}{}}}
	if got, want := string(dicts.Encode(doc)), `{"z":1,"a":{},"m":-5,"f":2.0,"other":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDecode(t *testing.T) {
	if got := decode(t, ` {"a": 1.10} `).(dicts.Object)["a"]; got != json.Number("1.10") {
		t.Errorf("got %v, want the number as it was written", got)
	}
	tests := []struct{ text, want string }{
		{"", "the text is empty"},
		{"  ", "the text is empty"},
		{"{", "unexpected EOF"},
		{"{} {}", "unexpected text"},
		{"{} x", "unexpected text"},
		{"[1,]", "invalid JSON"},
		{"NaN", "invalid JSON"},
	}
	for _, test := range tests {
		if doc, err := dicts.Decode([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v and the error %v, want %q", test.text, doc, err, test.want)
		}
	}
	if _, err := dicts.DecodeObject([]byte("[]")); err == nil || err.Error() != "not an object but a list" {
		t.Errorf("a list instead of an object: got the error %v", err)
	}
}

func TestEqualAsPython(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`1`, `true`, true},
		{`0.0`, `false`, true},
		{`-0`, `0`, true},
		{`1e2`, `100`, true},
		{`0.10`, `0.1`, true},
		{`1`, `"1"`, false},
		{`0`, `null`, false},
		{`0`, `""`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`9007199254740992`, `9007199254740992.0`, true},
		{`100000000000000000000`, `1e20`, true},
		{`100000000000000000001`, `1e20`, false},
		{`100000000000000000000`, `100000000000000000000`, true},
		{`100000000000000000000`, `100000000000000000001`, false},
		{`1e999`, `100000000000000000000`, false},
		{`{"a": 1, "b": [true]}`, `{"b": [1], "a": 1.0}`, true},
		{`{"a": null}`, `{}`, false},
		{`{"a": null}`, `{"b": null}`, false},
		{`[1, 2]`, `[2, 1]`, false},
		{`[1]`, `[1, 1]`, false},
		{`[]`, `{}`, false},
		{`null`, `null`, true},
		{`"a"`, `"a"`, true},
	}
	for _, test := range tests {
		t.Run(test.a+" and "+test.b, func(t *testing.T) {
			a, b := decode(t, test.a), decode(t, test.b)
			if got := dicts.Equal(a, b); got != test.want {
				t.Errorf("got %v", got)
			}
			if got := dicts.Equal(b, a); got != test.want {
				t.Errorf("the other way round: got %v", got)
			}
		})
	}
}

func FuzzEncodeIsStable(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2.50, "é\u0000", null, true, 1e400]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := dicts.Decode(raw)
		if err != nil || strings.ContainsAny(string(raw), "eE") {
			return // infinities cannot be read again
		}
		text := dicts.Encode(doc)
		again, err := dicts.Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !dicts.Equal(doc, again) || string(dicts.Encode(again)) != string(text) {
			t.Errorf("%s has become %s", text, dicts.Encode(again))
		}
	})
}
