package jsonlite

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKindOf(t *testing.T) {
	tests := []struct {
		text string
		want Kind
	}{
		{"", Missing},
		{"  ", Missing},
		{"null", Null},
		{"true", Bool},
		{" false", Bool},
		{"-1", Number},
		{`"x"`, String},
		{"[1]", Array},
		{"\n{}", Object},
	}
	for _, tt := range tests {
		if got := KindOf([]byte(tt.text)); got != tt.want {
			t.Errorf("%q is %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestMember(t *testing.T) {
	const text = ` { "a" : 1 , "b":{"a":[1,"}",{}]},"c\"\u0064":"x\\","":0, "last" : null } `
	tests := []struct{ key, want string }{
		{"a", "1"}, {"b", `{"a":[1,"}",{}]}`}, {`c"d`, `"x\\"`}, {"", "0"}, {"last", "null"}, {"d", ""}, {"absent", ""},
	}
	for _, tt := range tests {
		if got := Member([]byte(text), tt.key); string(got) != tt.want {
			t.Errorf("member %q is %q, want %q", tt.key, got, tt.want)
		}
	}
}

func TestItem(t *testing.T) {
	const text = `[ 1, "a,b" ,[2,3], {"x":[]}]`
	for i, want := range []string{"1", `"a,b"`, "[2,3]", `{"x":[]}`, ""} {
		if got := Item([]byte(text), i); string(got) != want {
			t.Errorf("item %d is %q, want %q", i, got, want)
		}
	}
	if got := Item([]byte(text), -1); got != nil {
		t.Errorf("item -1 is %q", got)
	}
}

func TestMembersOfOtherKinds(t *testing.T) {
	for _, text := range []string{"", "1", "null", `"a"`, "[1]"} {
		if got := Member([]byte(text), "a"); got != nil {
			t.Errorf("%q has the member %q", text, got)
		}
	}
	for _, text := range []string{"", "1", `{"0":1}`} {
		if got := Item([]byte(text), 0); got != nil {
			t.Errorf("%q has the item %q", text, got)
		}
	}
}

func TestScanMalformed(t *testing.T) {
	tests := []string{
		`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1 "b":2}`, `{"a" 1}`, `{1:2}`, `{"a":}`, `{"a":1,`, `{"a`, `{"a\`,
		`[`, `[1`, `[1 2]`, `[1,`, `[,1]`, `["`, `[[1]`, `[{"a":"]`,
	}
	for _, text := range tests {
		s := Scan([]byte(text))
		for s.Next() {
		}
		if s.Err() == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// FuzzScan finds the same members as encoding/json in whatever that understands,
// and fails no harder than with an error in the rest.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"a":[1,"}"]}}`, `{"\u0061":"\ud83d\ude00"}`, `[1,2`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		known := utf8.Valid(text) && json.Unmarshal(text, &want) == nil && want != nil
		got := map[string]string{}
		s := Scan(text)
		for s.Next() {
			got[s.Key()] = string(s.Value())
		}
		if !known {
			return
		}
		if len(got) != len(want) || s.Err() != nil {
			t.Fatalf("%d members, want %d (%v)", len(got), len(want), s.Err())
		}
		for key, value := range want {
			if got[key] != string(value) {
				t.Errorf("%q is %q, want %q", key, got[key], value)
			}
		}
	})
}

// TestStringsAreSkipped: quotes and backslashes at any distance from where eight
// characters are looked at at once.
func TestStringsAreSkipped(t *testing.T) {
	for before := range 20 {
		for after := range 20 {
			for _, inside := range []string{"", `\"`, `\\`, `\\\"`, "\u00e9\u0080", "{[]}"} {
				text := `"` + strings.Repeat("x", before) + inside + strings.Repeat("y", after) + `"`
				if got := skipString([]byte(text+`,"z"`), 0); got != len(text) {
					t.Fatalf("%s ends at %d, not at %d", text, got, len(text))
				}
				if got := skipString([]byte(text[:len(text)-1]), 0); got != -1 {
					t.Fatalf("%s without its end ends at %d", text, got)
				}
			}
		}
	}
}

func TestFindAndFirst(t *testing.T) {
	const text = `{"a":{"b":[1,{"c":2}],"d":"x"},"e": 3 }`
	if got := Find([]byte(text), "a"); string(got) != text[5:] {
		t.Errorf("what begins with a is %s", got)
	}
	inner := Find(Find([]byte(text), "a"), "b")
	if got := First(inner); string(got) != `[1,{"c":2}]` {
		t.Errorf("a.b is %s", got)
	}
	if got := First(Find(Item(inner, 1), "c")); string(got) != "2" {
		t.Errorf("a.b[1].c is %s", got)
	}
	for _, absent := range [][]byte{Find(inner, "d"), Find(Find([]byte(text), "a"), "e"), Find(nil, "a"), First(nil), First([]byte("}"))} {
		if absent != nil {
			t.Errorf("found %s, where nothing is", absent)
		}
	}
}
