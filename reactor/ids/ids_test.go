package ids_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/ids"
)

func TestGenerate(t *testing.T) {
	explicit, empty := "explicit", ""
	tests := []struct {
		name          string
		id            *string
		parent, field string
		want          string
	}{
		{"by the function", nil, "", "", "fn"},
		{"explicit", &explicit, "", "", "explicit"},
		{"explicitly empty", &empty, "parent", "", "parent/"},
		{"of a field", nil, "", "spec.field", "fn/spec.field"},
		{"of a parent and a field", &explicit, "a/b", "spec.field", "a/b/explicit/spec.field"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ids.Generate("fn", test.id, test.parent, test.field); got != test.want {
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
