package patches

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Apply differs from RFC 7386 where Kopf does.
func TestApply(t *testing.T) {
	body := `{"spec":{"a":1,"d":{"x":1},"l":[1,2]},"null":null}`
	for _, tt := range []struct {
		name, patch string
		want        []string
	}{
		{"nothing", `{}`, []string{}},
		{"what is there already", `{"spec":{"a":1}}`, []string{}},
		{"a new object", `{"status":{"x":{"y":1}}}`, []string{`{"op":"add","path":"/status","value":{"x":{"y":1}}}`}},
		{"a list", `{"spec":{"l":[2]}}`, []string{`{"op":"remove","path":"/spec/l/0"}`}},
		{"removing absent fields", `{"spec":{"z":null},"y":{"x":null}}`, []string{}},
		{"the last field goes with its object", `{"spec":{"d":{"x":null}}}`, []string{`{"op":"remove","path":"/spec/d"}`}},
		{"empty objects are not added", `{"spec":{"e":{}}}`, []string{}},
		{"removing null", `{"null":null}`, []string{`{"op":"remove","path":"/null"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			original := object(t, body)
			wanted, err := Apply(original, object(t, tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(Diff(original, wanted))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(t, body), original); diff != "" {
				t.Errorf("the body has changed:\n%s", diff)
			}
		})
	}
	for _, patch := range []string{`{"null":{"a":1}}`, `{"null":{"a":null}}`, `{"spec":{"a":{"b":1}}}`, `{"spec":{"l":{"b":null}}}`} {
		if got, err := Apply(object(t, body), object(t, patch)); !errors.Is(err, dicts.ErrNotObject) {
			t.Errorf("%s: got %v and error %v", patch, got, err)
		}
	}
}
