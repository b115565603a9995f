package dicts

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ doc, patch, want string }{
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":null,"d":3}}`, `{"a":{"c":2,"d":3}}`},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":1}`, `{"a":{"b":{"c":null,"d":1}}}`, `{"a":{"b":{"d":1}}}`},
		{`{"a":1}`, `{"a":{}}`, `{"a":{}}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
	} {
		doc, patch, want := decoded(t, test.doc), decoded(t, test.patch), decoded(t, test.want)
		if diff := cmp.Diff(want, MergePatch(doc, patch)); diff != "" {
			t.Errorf("%s after %s (-want +got):\n%s", test.doc, test.patch, diff)
		}
		if diff := cmp.Diff(decoded(t, test.doc), doc); diff != "" {
			t.Errorf("%s was changed:\n%s", test.doc, diff)
		}
	}
}

func TestJSONPatch(t *testing.T) {
	t.Parallel()
	const doc = `{"a":{"b/c":1},"list":[1,{"x":2},3]}`
	for _, test := range []struct{ patch, want string }{ // without a want: refused
		{`[{"op":"add","path":"/a/d","value":{"e":null}}]`, `{"a":{"b/c":1,"d":{"e":null}},"list":[1,{"x":2},3]}`},
		{`[{"op":"replace","path":"/a/b~1c","value":2}]`, `{"a":{"b/c":2},"list":[1,{"x":2},3]}`},
		{`[{"op":"remove","path":"/a"},{"op":"remove","path":"/list/0"}]`, `{"list":[{"x":2},3]}`},
		{`[{"op":"add","path":"/list/-","value":4},{"op":"add","path":"/list/1","value":0}]`, `{"a":{"b/c":1},"list":[1,0,{"x":2},3,4]}`},
		{`[{"op":"replace","path":"/list/1/x","value":5}]`, `{"a":{"b/c":1},"list":[1,{"x":5},3]}`},
		{`[{"op":"test","path":"/list/0","value":1},{"op":"replace","path":"","value":{}}]`, `{}`},
		{`[{"op":"test","path":"/list/0","value":2}]`, ""},
		{`[{"op":"replace","path":"/absent","value":1}]`, ""},
		{`[{"op":"remove","path":"/absent"}]`, ""},
		{`[{"op":"add","path":"/absent/x","value":1}]`, ""},
		{`[{"op":"add","path":"/list/4","value":1}]`, ""},
		{`[{"op":"remove","path":"/list/-"}]`, ""},
		{`[{"op":"add","path":"/list/x","value":1}]`, ""},
		{`[{"op":"add","path":"/a/b~1c/d","value":1}]`, ""},
		{`[{"op":"move","path":"/a/b~1c","from":"/list"}]`, ""},
		{`[{"op":"remove","path":""}]`, ""},
		{`[{"op":"replace","path":"","value":[]}]`, ""},
	} {
		object := decoded(t, doc).(Object)
		got, err := JSONPatch(object, decoded(t, test.patch).([]any))
		switch {
		case test.want == "":
			if !errors.Is(err, ErrOperation) {
				t.Errorf("%s: %v, %v", test.patch, got, err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.patch, err)
		default:
			if diff := cmp.Diff(decoded(t, test.want), any(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.patch, diff)
			}
		}
		if diff := cmp.Diff(decoded(t, doc), any(object)); diff != "" {
			t.Errorf("%s changes the given object:\n%s", test.patch, diff)
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	value, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
