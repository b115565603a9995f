package patches

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// The cases of RFC 7386, appendix A, but for those with documents or patches
// that are no objects; and some more.
func TestApply(t *testing.T) {
	for _, tt := range []struct{ name, body, patch, want string }{
		{"change", `{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{"add", `{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{"remove the last", `{"a":"b"}`, `{"a":null}`, `{}`},
		{"remove one", `{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{"list by scalar", `{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{"scalar by list", `{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{"nested", `{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{"lists are replaced", `{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{"nulls stay where they were", `{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{"nulls in a new object", `{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{"nulls in lists are values", `{}`, `{"a":[{"b":null}]}`, `{"a":[{"b":null}]}`},
		{"scalar by object", `{"a":1}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
		{"nothing", `{"a":1}`, `{}`, `{"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, patch := object(t, tt.body), object(t, tt.patch)
			got := Apply(body, patch)
			if diff := cmp.Diff(object(t, tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{object(t, tt.body), object(t, tt.patch)}, []any{body, patch}); diff != "" {
				t.Errorf("the arguments have changed:\n%s", diff)
			}
		})
	}
	if got := Apply(nil, dicts.Object{"a": nil}); got == nil || len(got) != 0 {
		t.Errorf("a nil body: got %v", got)
	}
}

func TestMerge(t *testing.T) {
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
			target, patch := object(t, tt.target), object(t, tt.patch)
			Merge(target, patch)
			if diff := cmp.Diff(object(t, tt.want), target); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeCopies(t *testing.T) {
	target, patch := dicts.Object{}, object(t, `{"a":{"b":{"c":1}}}`)
	Merge(target, patch)
	Merge(target, object(t, `{"a":{"b":{"c":2}}}`))
	if diff := cmp.Diff(object(t, `{"a":{"b":{"c":1}}}`), patch); diff != "" {
		t.Errorf("the patch has changed through the target:\n%s", diff)
	}
}

// Applying a merged patch is applying its parts one after the other.
func TestMergeThenApply(t *testing.T) {
	body := object(t, `{"a":{"x":1,"y":2},"b":[1],"c":"text"}`)
	first, second := object(t, `{"a":{"x":null,"z":3},"b":null}`), object(t, `{"a":{"x":4,"z":null},"c":null,"d":{"e":5}}`)
	want := Apply(Apply(body, first), second)
	both := dicts.Object{}
	Merge(both, first)
	Merge(both, second)
	if diff := cmp.Diff(want, Apply(body, both)); diff != "" {
		t.Errorf("(-one by one +together):\n%s", diff)
	}
}

// Where the reference differs from RFC 7386, so does FromMerge.
func TestFromMerge(t *testing.T) {
	body := `{"spec":{"a":1,"d":{"x":1},"l":[1,2]},"null":null}`
	for _, tt := range []struct {
		name, patch string
		want        []string
	}{
		{"nothing", `{}`, []string{}},
		{"what is there already", `{"spec":{"a":1}}`, []string{}},
		{"a new object", `{"status":{"x":{"y":1}}}`, []string{`{"op":"add","path":"/status","value":{"x":{"y":1}}}`}},
		{"a list", `{"spec":{"l":[2]}}`, []string{`{"op":"remove","path":"/spec/l/0"}`}},
		{"removing what is not there", `{"spec":{"z":null},"y":{"x":null}}`, []string{}},
		{"the last field goes with its object", `{"spec":{"d":{"x":null}}}`, []string{`{"op":"remove","path":"/spec/d"}`}},
		{"empty objects are not added", `{"spec":{"e":{}}}`, []string{}},
		{"removing null", `{"null":null}`, []string{`{"op":"remove","path":"/null"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			original := object(t, body)
			got, err := FromMerge(original, object(t, tt.patch))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(t, body), original); diff != "" {
				t.Errorf("the body has changed:\n%s", diff)
			}
		})
	}
	for _, patch := range []string{`{"null":{"a":1}}`, `{"null":{"a":null}}`, `{"spec":{"a":{"b":1}}}`, `{"spec":{"l":{"b":null}}}`} {
		if got, err := FromMerge(object(t, body), object(t, patch)); !errors.Is(err, dicts.ErrNotObject) {
			t.Errorf("%s: got %v and error %v", patch, got, err)
		}
	}
}
