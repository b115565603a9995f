package patches

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// vector is one recorded call of the reference.
type vector struct {
	In    json.RawMessage
	Out   json.RawMessage
	Error string
}

func object(t *testing.T, text string) dicts.Object {
	t.Helper()
	obj, err := dicts.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestAdmissionPatchesAsRecorded(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "test", "conformance", "vectors", "json-patches.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("there are no vectors")
	}
	anyOrder := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	for _, v := range file.Cases {
		t.Run(strings.Trim(string(v.In), "{}"), func(t *testing.T) {
			in := object(t, string(v.In))
			body := dicts.LookupObject(in, "body")
			before := dicts.CloneObject(body)
			got, err := FromMerge(body, dicts.LookupObject(in, "patch"))
			if (err != nil) != (v.Error != "") {
				t.Fatalf("got error %v, recorded %q", err, v.Error)
			}
			if diff := cmp.Diff(before, body); diff != "" {
				t.Errorf("the body has changed:\n%s", diff)
			}
			if err != nil {
				return
			}
			want, err := dicts.Decode(v.Out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encodeAll(want.([]any)), texts(got), anyOrder, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("unlike the reference (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(operations []Operation) []string {
	list := make([]string, len(operations))
	for i, o := range operations {
		list[i] = string(dicts.Encode(o.JSON()))
	}
	return list
}
