package ids_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/ids"
)

func TestGenerate(t *testing.T) {
	tests := []struct {
		name              string
		id, parent, field string
		want              string
	}{
		{"alone", "fn", "", "", "fn"},
		{"empty", "", "parent", "", "parent/"},
		{"of a field", "fn", "", "spec.field", "fn/spec.field"},
		{"of a parent and a field", "fn", "a/b", "spec.field", "a/b/fn/spec.field"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ids.Generate(test.id, test.parent, test.field); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRegistered(t *testing.T) {
	tests := []struct {
		kind  abi.Kind
		field []string
		want  string
	}{
		{abi.KindUpdate, nil, "fn"},
		{abi.KindUpdate, []string{"spec", "a.b"}, "fn/spec.a.b"},
		{abi.KindIndex, []string{"spec", "field"}, "fn"},
	}
	for _, test := range tests {
		if got := ids.Registered(abi.Handler{ID: "fn", Kind: test.kind, Field: test.field}); got != test.want {
			t.Errorf("%s of %q: got %q, want %q", test.kind, test.field, got, test.want)
		}
	}
}
