package diffs_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	doc, err := dicts.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func want(t *testing.T, want string, diff diffs.Diff) {
	t.Helper()
	if got := string(dicts.Encode(diff.JSON())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCompute(t *testing.T) {
	tests := []struct {
		name, old, new string
		scope          diffs.Scope
		want           string
	}{
		{"nothing", `{"a": 1}`, `{"a": 1.0}`, diffs.Full, `[]`},
		{
			"all kinds, sorted", `{"z": 1, "m": {"x": 1, "y": 2}, "b": 0}`, `{"a": 1, "m": {"x": 2, "y": 2}, "b": 0}`, diffs.Full,
			`[["add",["a"],null,1],["change",["m","x"],1,2],["remove",["z"],1,null]]`,
		},
		{"of the whole", `null`, `{"a": 1}`, diffs.Full, `[["add",[],null,{"a":1}]]`},
		{"null is absent", `{"a": null}`, `{}`, diffs.Full, `[]`},
		{"empty is not absent", `{}`, `{"a": {}}`, diffs.Full, `[["add",["a"],null,{}]]`},
		{"lists are values", `{"a": [1]}`, `{"a": [1, 2]}`, diffs.Full, `[["change",["a"],[1],[1,2]]]`},
		{"objects and scalars", `{"a": {"b": 1}}`, `{"a": "b"}`, diffs.Full, `[["change",["a"],{"b":1},"b"]]`},
		{
			"left", `{"a": 1, "b": {"c": 1}}`, `{"b": {"c": 2, "d": 3}, "e": 4}`, diffs.Left,
			`[["remove",["a"],1,null],["change",["b","c"],1,2]]`,
		},
		{
			"right", `{"a": 1, "b": {"c": 1}}`, `{"b": {"c": 2, "d": 3}, "e": 4}`, diffs.Right,
			`[["change",["b","c"],1,2],["add",["b","d"],null,3],["add",["e"],null,4]]`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want(t, test.want, diffs.Compute(decode(t, test.old), decode(t, test.new), test.scope))
		})
	}
}

func TestComputeTakesNilObjectsForAbsent(t *testing.T) {
	var none dicts.Object
	want(t, `[["add",[],null,{"a":1}]]`, diffs.Compute(none, dicts.Object{"a": 1}, diffs.Full))
	want(t, `[]`, diffs.Compute(none, nil, diffs.Full))
}

func TestPathsDoNotShareMemory(t *testing.T) {
	diff := diffs.Compute(decode(t, `{}`), decode(t, `{"a": {"b": {"x": 1, "y": 2}, "c": 3}}`), diffs.Full)
	diff = append(diff, diffs.Compute(decode(t, `{"a":{"b":{}}}`), decode(t, `{"a": {"b": {"x": 1, "y": 2}, "c": 3}}`), diffs.Full)...)
	want(t, `[["add",["a"],null,{"b":{"x":1,"y":2},"c":3}],["add",["a","b","x"],null,1],["add",["a","b","y"],null,2],["add",["a","c"],null,3]]`, diff)
}

func TestReduce(t *testing.T) {
	tests := []struct{ name, old, new, path, want string }{
		{
			"within the field", `{"spec": {"x": {"y": 1}}}`, `{"spec": {"x": {"y": 2, "z": 1}, "other": 1}}`, "spec.x",
			`[["change",["y"],1,2],["add",["z"],null,1]]`,
		},
		{"the field itself", `{"spec": {"x": 1}}`, `{"spec": {"x": 2}}`, "spec.x", `[["change",[],1,2]]`},
		{"a structure around it", `{}`, `{"spec": {"x": {"y": 1}}}`, "spec.x", `[["add",[],null,{"y":1}]]`},
		{"a structure without it", `{}`, `{"spec": {"z": 1}}`, "spec.x", `[]`},
		{"a scalar around it", `{"spec": "text"}`, `{"spec": {"x": 1}}`, "spec.x", `[["add",[],null,1]]`},
		{"another field", `{"a": 1}`, `{"a": 2}`, "ab", `[]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := dicts.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			whole := diffs.Compute(decode(t, test.old), decode(t, test.new), diffs.Full)
			want(t, test.want, diffs.Reduce(whole, path))
			if diff := cmp.Diff(whole, diffs.Reduce(whole, nil)); diff != "" {
				t.Errorf("by the empty path (-whole +reduced):\n%s", diff)
			}
		})
	}
}

func TestItemIsAListInJSON(t *testing.T) {
	raw, err := json.Marshal(diffs.Diff{{Op: diffs.Add, Path: dicts.Path{"a"}, New: true}})
	if err != nil || string(raw) != `[["add",["a"],null,true]]` {
		t.Errorf("got %s and the error %v", raw, err)
	}
}
