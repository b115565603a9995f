package progression_test

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/stores"
)

func TestDeliverResults(t *testing.T) {
	failed := "failed"
	outcomes := map[string]progression.Outcome{
		"object":  {Final: true, Result: stores.Object{"b": 2}},
		"list":    {Final: true, Result: []any{1}},
		"none":    {Final: true},
		"failed":  {Final: true, Error: &failed, Result: "unused"},
		"a/b.c":   {Final: true, Result: false},
		"another": {Final: true, Result: stores.Object{}},
	}
	patch := &stores.Patch{}
	patch.Merge(stores.Object{"status": stores.Object{"object": stores.Object{"a": 1, "b": 1}, "list": "replaced"}})
	if err := progression.DeliverResults(outcomes, patch); err != nil {
		t.Fatal(err)
	}
	want := `{"status":{"a/b.c":false,"another":{},"list":[1],"object":{"a":1,"b":2}}}`
	if got := string(dicts.Encode(patch.Object())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	outcomes["list"].Result.([]any)[0] = "changed"
	if got := string(dicts.Encode(patch.Object())); got != want {
		t.Errorf("the patch has changed with the result: %s", got)
	}
}

func TestDeliverResultsIntoStrangePatches(t *testing.T) {
	outcomes := map[string]progression.Outcome{"fn": {Final: true, Result: stores.Object{"a": 1}}}
	for _, changes := range []stores.Object{{"status": nil}, {"status": "text"}, {"status": stores.Object{"fn": "text"}}} {
		patch := &stores.Patch{}
		patch.Merge(changes)
		if err := progression.DeliverResults(outcomes, patch); !errors.Is(err, dicts.ErrNotObject) {
			t.Errorf("%s: got the error %v", dicts.Encode(patch.Object()), err)
		}
	}
}
