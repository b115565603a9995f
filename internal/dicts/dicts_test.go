package dicts_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	doc, err := dicts.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestParsePath(t *testing.T) {
	tests := []struct {
		name string
		spec any
		want dicts.Path
	}{
		{"root", nil, dicts.Path{}},
		{"one key", "spec", dicts.Path{"spec"}},
		{"dots", "spec.a.b", dicts.Path{"spec", "a", "b"}},
		{"empty key", "", dicts.Path{""}},
		{"list with dots", []any{"a", "b.c"}, dicts.Path{"a", "b.c"}},
		{"Go strings", []string{"a", "b"}, dicts.Path{"a", "b"}},
		{"a path", dicts.Path{"a"}, dicts.Path{"a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := dicts.ParsePath(test.spec)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, spec := range []any{1, true, dicts.Object{}, []any{"a", 1}} {
		if path, err := dicts.ParsePath(spec); !errors.Is(err, dicts.ErrPath) {
			t.Errorf("%v: got %v and the error %v, want %v", spec, path, err, dicts.ErrPath)
		}
	}
}

func TestResolve(t *testing.T) {
	doc := decode(t, `{"a": {"b": {"c": 1}, "null": null, "text": "x", "list": [1]}}`)
	tests := []struct {
		path string
		want string // JSON; empty: absent
		err  error
	}{
		{"a.b.c", "1", nil},
		{"a.null", "null", nil},
		{"a.x", "", nil},
		{"x.y.z", "", nil},
		{"a.null.x", "", dicts.ErrNotObject},
		{"a.text.x", "", dicts.ErrNotObject},
		{"a.list.0", "", dicts.ErrNotObject},
		{"a.b.c.d", "", dicts.ErrNotObject},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			path, err := dicts.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			value, ok, err := dicts.Resolve(doc, path)
			if !errors.Is(err, test.err) || ok != (test.want != "") {
				t.Fatalf("got %v, %v and the error %v", value, ok, err)
			}
			if ok && string(dicts.Encode(value)) != test.want {
				t.Errorf("got %v, want %s", value, test.want)
			}
			if lenient, found := dicts.Lookup(doc, path...); found != ok || !dicts.Equal(lenient, value) {
				t.Errorf("Lookup: got %v, %v", lenient, found)
			}
		})
	}
	if root, ok := dicts.Lookup(doc); !ok || !dicts.Equal(root, doc) {
		t.Error("the empty path is not the document")
	}
}

func TestEnsureAndRemove(t *testing.T) {
	tests := []struct {
		name, before, path, ensured, removed string // JSON; empty: an error
	}{
		{"new parents", `{}`, "a.b.c", `{"a":{"b":{"c":"v"}}}`, `{}`},
		{"siblings stay", `{"a":{"b":1,"x":2}}`, "a.b", `{"a":{"b":"v","x":2}}`, `{"a":{"x":2}}`},
		{"empty parents go", `{"a":{"b":{"c":1}},"x":{}}`, "a.b.c", `{"a":{"b":{"c":"v"}},"x":{}}`, `{"x":{}}`},
		{"empty parents of absent fields go", `{"a":{"b":{}}}`, "a.b.c", `{"a":{"b":{"c":"v"}}}`, `{}`},
		{"null parent", `{"a":null}`, "a.b", "", ""},
		{"text parent", `{"a":"x"}`, "a.b", "", ""},
		{"list grandparent", `{"a":[]}`, "a.b.c", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := dicts.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			obj := decode(t, test.before).(dicts.Object)
			wantChange(t, "Ensure", test.before, test.ensured, obj, dicts.Ensure(obj, path, "v"))
			obj = decode(t, test.before).(dicts.Object)
			wantChange(t, "Remove", test.before, test.removed, obj, dicts.Remove(obj, path))
		})
	}
	if err := dicts.Ensure(dicts.Object{}, nil, 1); !errors.Is(err, dicts.ErrRoot) {
		t.Errorf("setting the root: got the error %v", err)
	}
	if err := dicts.Remove(dicts.Object{}, nil); !errors.Is(err, dicts.ErrRoot) {
		t.Errorf("removing the root: got the error %v", err)
	}
}

func wantChange(t *testing.T, what, before, want string, got dicts.Object, err error) {
	t.Helper()
	if want == "" {
		want = before
		if !errors.Is(err, dicts.ErrNotObject) {
			t.Errorf("%s: got the error %v, want %v", what, err, dicts.ErrNotObject)
		}
	} else if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if text := string(dicts.Encode(got)); text != want {
		t.Errorf("%s: got %s, want %s", what, text, want)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	doc := decode(t, `{"a": {"b": [{"c": 1}]}}`).(dicts.Object)
	clone := dicts.CloneObject(doc)
	clone["a"].(dicts.Object)["b"].([]any)[0].(dicts.Object)["c"] = "changed"
	if got := string(dicts.Encode(doc)); got != `{"a":{"b":[{"c":1}]}}` {
		t.Errorf("the original is %s now", got)
	}
	if dicts.CloneObject(nil) != nil {
		t.Error("the clone of nothing is something")
	}
}
