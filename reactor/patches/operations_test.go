package patches

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

func TestOperationJSON(t *testing.T) {
	for _, tt := range []struct {
		operation Operation
		want      string
	}{
		{Operation{Op: Remove, Path: "/a"}, `{"op":"remove","path":"/a"}`},
		{Operation{Op: Add, Path: "/a"}, `{"op":"add","path":"/a","value":null}`},
		{Operation{Replace, "", dicts.Object{"b": json.Number("1.50")}}, `{"op":"replace","path":"","value":{"b":1.50}}`},
	} {
		got, err := json.Marshal(tt.operation)
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s (%v), want %s", got, err, tt.want)
		}
	}
}

func TestSplitAndWithTest(t *testing.T) {
	operations := []Operation{
		{Op: Add, Path: "/status/a"},
		{Op: Remove, Path: "/spec"},
		{Op: Remove, Path: "/status"},
		{Op: Add, Path: "/statuses"},
		{Op: Add, Path: "/spec/status"},
		{Op: Replace, Path: ""},
	}
	body, status := Split(operations)
	if diff := cmp.Diff([]Operation{operations[1], operations[3], operations[4], operations[5]}, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Operation{operations[0], operations[2]}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	want := append([]Operation{{Test, "/metadata/resourceVersion", "42"}}, status...)
	if diff := cmp.Diff(want, WithTest("42", status)); diff != "" {
		t.Errorf("guarded (-want +got):\n%s", diff)
	}
}

func TestInconsistencies(t *testing.T) {
	for _, tt := range []struct{ name, patch, result, want string }{
		{"as wanted", `{"spec":{"a":1}}`, `{"spec":{"a":1,"b":2},"status":{}}`, `[]`},
		{"pruned", `{"status":{"a":1}}`, `{"status":{}}`, `[["remove",["status","a"],1,null]]`},
		{"nothing left of the status", `{"status":{"a":1}}`, `{}`, `[["remove",["status"],{"a":1},null]]`},
		{"not removed", `{"spec":{"a":null}}`, `{"spec":{"a":1}}`, `[["add",["spec","a"],null,1]]`},
		{"removed", `{"spec":{"a":null}}`, `{"spec":{}}`, `[]`},
		{"another value", `{"spec":{"a":1}}`, `{"spec":{"a":2}}`, `[["change",["spec","a"],1,2]]`},
		{"empty labels vanish", `{"metadata":{"labels":{},"annotations":{},"finalizers":[]}}`, `{"metadata":{}}`, `[]`},
		{"other empty fields do not", `{"spec":{"a":{}}}`, `{"spec":{}}`, `[["remove",["spec","a"],{},null]]`},
		{
			"labels with something do not", `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{}}`,
			`[["remove",["metadata","labels"],{"a":"b"},null]]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dicts.Encode(Inconsistencies(object(t, tt.patch), object(t, tt.result)).JSON())
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Inconsistencies(object(t, `{"a":1}`), nil); len(got) > 0 {
		t.Errorf("an object that is gone: %v", got)
	}
}
