package interests

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/filters"
)

func TestConcerns(t *testing.T) {
	i := &Interest{
		Labels:    [][]filters.Label{{{Key: "app", Value: "x"}, {Key: "tier", Value: "1"}}, {{Key: "watched", Any: true}}},
		Finalizer: "f/f",
	}
	tests := []struct {
		name, object string
		wanted       bool
	}{
		{"no labels", `{"metadata":{"name":"a"}}`, false},
		{"no metadata", `{}`, false},
		{"null labels", `{"metadata":{"labels":null,"finalizers":null}}`, false},
		{"all labels of a handler", `{"metadata":{"labels":{"tier":"1","app":"x","more":"y"}}}`, true},
		{"some labels of a handler", `{"metadata":{"labels":{"app":"x"}}}`, false},
		{"another value", `{"metadata":{"labels":{"app":"x","tier":"2"}}}`, false},
		{"any value", `{"metadata":{"labels":{"watched":""}}}`, true},
		{"an escaped value", `{"metadata":{"labels":{"app":"\u0078","tier":"1"}}}`, true},
		{"labels elsewhere", `{"spec":{"labels":{"watched":""}},"metadata":{"name":"a","annotations":{"watched":""}}}`, false},
		{"its finalizer", `{"metadata":{"finalizers":["a/b","f/f"]}}`, true},
		{"another finalizer", `{"metadata":{"finalizers":["a/b"]}}`, false},
		{"labels that are not read", "{\"metadata\":{\"labels\":{\"a\":1},\"name\":\"\xff\"}}", true},
		{"finalizers that are not read", `{"metadata":{"finalizers":[1]}}`, true},
		{"no object", `x`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := i.Concerns(MarksOf([]byte(tt.object))); got != tt.wanted {
				t.Errorf("%t, want %t", got, tt.wanted)
			}
			if !(*Interest)(nil).Concerns(MarksOf([]byte(tt.object))) {
				t.Error("no interest does not include it")
			}
		})
	}
}

// The slow way of texts that the scanner leaves to encoding/json finds the same.
func TestMarksOfUnusualTexts(t *testing.T) {
	usual := MarksOf([]byte(`{"metadata":{"name":"a","labels":{"a":"b"},"finalizers":["f"]}}`))
	unusual := MarksOf([]byte("{\"metadata\":{\"name\":\"\xff\",\"labels\":{\"a\":\"b\"},\"finalizers\":[\"f\"]}}"))
	if diff := cmp.Diff(usual, unusual); diff != "" || len(usual.Labels) != 1 || len(usual.Finalizers) != 1 {
		t.Errorf("(-usual +unusual):\n%s", diff)
	}
}
