package stores_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

func document(t *testing.T, text string) stores.Object {
	t.Helper()
	object, err := dicts.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPatchMerge(t *testing.T) {
	for _, tt := range []struct{ name, target, patch, want string }{
		{"to nothing", `{}`, `{"a":{"b":null},"c":null}`, `{"a":{"b":null},"c":null}`},
		{"side by side", `{"a":{"b":1}}`, `{"a":{"c":2},"d":3}`, `{"a":{"b":1,"c":2},"d":3}`},
		{"later values win", `{"a":{"b":1}}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
		{"later removals win", `{"a":{"b":1}}`, `{"a":{"b":null}}`, `{"a":{"b":null}}`},
		{"removal of the whole", `{"a":{"b":1}}`, `{"a":null}`, `{"a":null}`},
		{"a value after a removal", `{"a":null}`, `{"a":1}`, `{"a":1}`},
		{"an object after a removal", `{"a":null}`, `{"a":{"b":null,"c":1}}`, `{"a":{"b":null,"c":1}}`},
		{"lists are replaced", `{"a":[1]}`, `{"a":[2]}`, `{"a":[2]}`},
		{"an empty object changes nothing", `{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			patch := &stores.Patch{}
			patch.Merge(document(t, tt.target))
			patch.Merge(document(t, tt.patch))
			if diff := cmp.Diff(document(t, tt.want), patch.Object()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchKeepsTheOrder(t *testing.T) {
	patch := &stores.Patch{}
	if text, err := patch.Encode(patch.Object()); err != nil || string(text) != "{}" || !patch.IsEmpty() {
		t.Errorf("an empty patch: %s, %v", text, err)
	}
	for _, path := range []stores.Path{{"status", "z"}, {"metadata", "annotations", "b"}, {"metadata", "annotations", "a"}, {"status", "a"}} {
		if err := patch.Set(path, 1); err != nil {
			t.Fatal(err)
		}
	}
	patch.Merge(document(t, `{"spec":{"y":{"b":1,"a":2},"x":3},"status":{"z":{"q":null}}}`))
	for _, path := range []stores.Path{{"metadata", "annotations", "b"}, {"status", "a"}} {
		if err := patch.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := patch.Set(stores.Path{"metadata", "annotations", "b"}, nil); err != nil {
		t.Fatal(err)
	}
	want := `{"status":{"z":{"q":null}},"metadata":{"annotations":{"a":1,"b":null}},"spec":{"x":3,"y":{"a":2,"b":1}}}`
	if text, err := patch.Encode(patch.Object()); err != nil || string(text) != want {
		t.Errorf("got %s, %v\nwant %s", text, err, want)
	}
	if err := patch.Set(stores.Path{"spec", "x", "y"}, 1); err == nil {
		t.Error("a field is set inside of a number")
	}
}
