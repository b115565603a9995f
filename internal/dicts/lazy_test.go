package dicts

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// bodySeeds are objects with members that must not, or need not, stay text.
var bodySeeds = []string{
	`{"spec":{"a":[1,2.5,true,null,"x\n\"\\"],"b":{"c":{}}},"status":{"x":1}}`,
	`{"spec":{"b":1,"a":2}}`, `{"spec":{"a":1,"a":2}}`, `{"spec":{"a":1},"spec":{"a":2}}`, `{"spec":{"a":1},"spec":2}`, `{"spec":{ "a":1}}`,
	`{"spec":{"a":-0,"b":0,"c":1e3,"d":1.0,"e":0.1,"f":1E5,"g":-0.0,"h":1e999,"i":5e-324,"j":100000000000000000000,"k":1e+16,"l":1e16,"m":1.50}}`,
	`{"spec":["\u003c","\/","\u00e9","é","\ud83d","\b\f\n\r\t",""],"x":[],"y":{}}`, `{"spec":{"\u0061":1}}`, `{"spec":{"a\n":1}}`, `{"spec":{"":1}}`, "{\"spec\":[\"\xff\"]}", "{\"spec\":[\"\x7f\"]}",
	annotated(strings.Repeat(`{\"a\":1}\n`, 20)), annotated(strings.Repeat(`\u003c\"`, 40)), annotated(strings.Repeat(`\/`, 90)), annotated(strings.Repeat(`é\"`, 90)), annotated(strings.Repeat(`x`, 200)), annotated(strings.Repeat(`\"`, 60)), annotated(strings.Repeat(`\"`, 90) + `\q`),
	`{"metadata":{"b":1,"a":{"b":1}},"b":{"b":[]}}`, `{"spec":[tru]}`, `{"spec":{"a":1}`, `{"spec":{"a"}}`, `{"spec":[1,]}`, `{"spec":[01]}`,
	`{"spec":` + strings.Repeat("[", 990) + "1" + strings.Repeat("]", 990) + `}`,
	`{"spec":` + strings.Repeat(`{"a":`, 998) + "1" + strings.Repeat("}", 998) + `}`,
	`{"spec":` + strings.Repeat("[", 1100) + "1" + strings.Repeat("]", 1100) + `}`,
}

// annotated returns an object with a text where it is an annotation, and where it is not.
func annotated(text string) string {
	annotations := `{"annotations":{"b":"` + text + `","o":{"annotations":{"x":"` + text + `"}}},"other":{"x":"` + text + `"}}`
	return `{"annotations":{"y":"` + text + `"},"metadata":` + annotations + `,"spec":` + annotations + ` }`
}

// opened returns a value without anything that is undecoded.
func opened(v any) any {
	switch v := Open(v).(type) {
	case Object:
		all := Object{}
		for key, value := range v {
			all[key] = opened(value)
		}
		return all
	case []any:
		for _, item := range v {
			if _, ok := item.(*Lazy); ok {
				panic("a list has an undecoded item")
			}
		}
		return v
	default:
		return v
	}
}

// FuzzBody compares objects of which parts stay text with decoded ones, in all that is done
// with them.
func FuzzBody(f *testing.F) {
	for _, seed := range bodySeeds {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw, other []byte) {
		keep := func(parent, key string) bool { return key != "b" || parent != "metadata" }
		want, wantErr := DecodeParts(raw, keep)
		got, err := DecodeBody(raw, keep)
		if folded, err := DecodeBody(raw, keep); err == nil {
			Fold(folded)
			if !Equal(folded, want) || string(Encode(folded)) != string(Encode(want)) {
				t.Fatalf("%q: folded to %s", raw, Encode(folded))
			}
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: got the error %v, want %v", raw, err, wantErr)
		}
		if err != nil {
			return
		}
		if got, want := string(Encode(got)), string(Encode(want)); got != want {
			t.Fatalf("%q: encoded as %s, want %s", raw, got, want)
		}
		second, err := DecodeBody(other, keep)
		if err == nil {
			decoded, _ := DecodeParts(other, keep)
			for _, equal := range []bool{Equal(got, second), Equal(second, got), Equal(got, decoded), Equal(want, second)} {
				if equal != Equal(want, decoded) {
					t.Fatalf("%q and %q: equal: %t, want %t", raw, other, equal, !equal)
				}
			}
		}
		for key, value := range want {
			wantSame(t, got, want, key)
			if inner, ok := value.(Object); ok {
				for below := range inner {
					wantSame(t, got, want, key, below)
				}
			}
		}
	})
}

// wantSame compares what is read, set and removed at a path.
func wantSame(t *testing.T, lazy, decoded Object, path ...string) {
	t.Helper()
	got, there := Lookup(lazy, path...)
	want, isThere := Lookup(decoded, path...)
	if there != isThere || !reflect.DeepEqual(opened(got), opened(want)) || !Equal(got, want) {
		t.Fatalf("%q: got %v, want %v", path, got, want)
	}
	for _, change := range []func(Object) error{
		func(o Object) error { return Ensure(o, append(Path(path), "more"), "value") },
		func(o Object) error { return Remove(o, append(Path(path), "more")) },
		func(o Object) error { return Remove(o, path) },
	} {
		changed, reference := CloneObject(lazy), CloneObject(decoded)
		err, wantErr := change(changed), change(reference)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: got the error %v, want %v", path, err, wantErr)
		}
		if got, want := string(Encode(changed)), string(Encode(reference)); got != want {
			t.Fatalf("%q: changed to %s, want %s", path, got, want)
		}
	}
	if !Equal(lazy, decoded) {
		t.Fatalf("%q: the original has changed", path)
	}
}

// TestLazily: usual objects stay text, and those that would be encoded in another way do not.
func TestLazily(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":[1,-2,2.5,1e+16,true,null,"x\n\"\\ <&>"],"b":{"c":{}}}`: true,
		`[{"name":"a"},{"name":"b"}]`:                                 true,
		`{}`:                                                          false, `[]`: false, `1`: false, `"text"`: false,
		`{"b":1,"a":2}`: false, `{"a":1,"a":1}`: false, `{"a": 1}`: false, `[-0]`: false, `[1.0e3]`: false, `[1e16]`: false, `["\u003c"]`: false, `["é"]`: false,
	} {
		body, err := DecodeBody([]byte(`{"metadata":`+text+`,"spec":`+text+`}`), func(string, string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := body["spec"].(*Lazy); ok != want {
			t.Errorf("%s: stays text: %t, want %t", text, ok, want)
		}
		if _, ok := body["metadata"].(*Lazy); ok {
			t.Errorf("%s: metadata stay text", text)
		}
	}
}

// TestLazyAnnotations: only long annotations with escapes stay text.
func TestLazyAnnotations(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat(`{\"a\":1}\n`, 20): true, strings.Repeat(`x`, 1000): false, `\"`: false, strings.Repeat(`\u003c`, 100): false, strings.Repeat(`é\"`, 100): false,
	} {
		body, err := DecodeBody([]byte(annotated(text)), func(string, string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, path := range [][]string{{"metadata", "annotations"}, {"metadata", "annotations", "o", "annotations"}, {"metadata", "other"}, {"annotations"}, {"spec", "annotations"}} {
			for key, value := range LookupObject(body, path...) {
				if _, ok := value.(*Lazy); ok {
					found++
					decoded, isText := Open(value).(string)
					if len(path) != 2 || key != "b" || !isText || !IsText(value, []byte(decoded)) || IsText(value, []byte(decoded+"x")) || IsText(value, []byte(decoded[1:])) {
						t.Errorf("%.50s: %v %s stays text", text, path, key)
					}
				}
			}
		}
		if want != (found == 1) {
			t.Errorf("%.50s: %d texts stay text, want: %t", text, found, want)
		}
	}
}

// TestLazyInParallel: several handlers may read a part at once.
func TestLazyInParallel(t *testing.T) {
	body, err := DecodeBody([]byte(`{"spec":{"a":{"b":1}}}`), func(string, string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if value, ok := Lookup(body, "spec", "a", "b"); !ok || value != json.Number("1") {
				t.Errorf("got %v", value)
			}
		})
	}
	all.Wait()
	if text, err := json.Marshal(body); err != nil || string(text) != `{"spec":{"a":{"b":1}}}` {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestShut: decoded values are forgotten, and decoded again.
func TestShut(t *testing.T) {
	body, err := DecodeBody([]byte(`{"metadata":{"name":"x"},"spec":{"a":"x"},"status":{"b":1}}`), func(string, string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	before := opened(body)
	Shut(body)
	for _, key := range []string{"spec", "status"} {
		if body[key].(*Lazy).value.Load() != nil {
			t.Errorf("the %s is still decoded", key)
		}
	}
	if !reflect.DeepEqual(opened(body), before) {
		t.Error("the values have changed")
	}
	Shut(nil)
}

// TestFolded: values become texts that take less memory, and are the same.
func TestFolded(t *testing.T) {
	for text, folds := range map[string]bool{
		`{"a":[1,2]}`: true, `[{},{}]`: true, `{}`: true, `"text"`: false, `1`: false, `null`: false, `["` + strings.Repeat("ü", 1000) + `"]`: false,
	} {
		value, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		folded := Folded(value)
		lazy, isText := folded.(*Lazy)
		if isText != folds || !reflect.DeepEqual(Open(folded), value) {
			t.Errorf("%.20s: %T %v", text, folded, folded)
		}
		if again := Folded(folded); isText && (again != folded || lazy.value.Load() != nil) {
			t.Errorf("%.20s: it is decoded", text)
		}
	}
}
