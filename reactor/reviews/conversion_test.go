package reviews_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

func TestPath(t *testing.T) {
	steps := func(texts ...string) (list []reviews.Step) {
		for _, text := range texts {
			from, to, _ := strings.Cut(text, ">")
			list = append(list, reviews.Step{From: from, To: to})
		}
		return list
	}
	for _, tt := range []struct {
		name, from, to string
		steps          []reviews.Step
		want           []int
		found          bool
	}{
		{"nothing to do", "v1", "v1", nil, nil, true},
		{"one step", "v1", "v2", steps("v2>v1", "v1>v2"), []int{1}, true},
		{"no way back", "v2", "v1", steps("v1>v2"), nil, false},
		{"several steps", "v1", "v4", steps("v3>v4", "v2>v3", "v1>v2"), []int{2, 1, 0}, true},
		{"the shortest one", "v1", "v3", steps("v1>v2", "v2>v3", "v1>v3"), []int{2}, true},
		{"the first of equal ones", "v1", "v3", steps("v1>b", "v1>a", "a>v3", "b>v3"), []int{0, 3}, true},
		{"a circle", "v1", "v9", steps("v1>v2", "v2>v1"), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, found := reviews.Path(tt.steps, tt.from, tt.to)
			if !slices.Equal(got, tt.want) || found != tt.found {
				t.Errorf("%v %t, want %v %t", got, found, tt.want, tt.found)
			}
		})
	}
}

func TestConverted(t *testing.T) {
	before := `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n","uid":"u","labels":{"a":"b"},"finalizers":["f"]}}`
	for _, tt := range []struct{ name, after, want string }{
		{
			"labels and annotations only", `{"kind":"K","metadata":{"name":"n","uid":"u","annotations":{"x":"y"},"finalizers":[]},"spec":1}`,
			`{"apiVersion":"g/v2","kind":"K","metadata":{"annotations":{"x":"y"},"finalizers":["f"],"name":"n","uid":"u"},"spec":1}`,
		},
		{"another name", `{"kind":"K","metadata":{"name":"m","uid":"u"}}`, `metadata.name has become "m"`},
		{"no uid", `{"kind":"K","metadata":{"name":"n"}}`, `metadata.uid has become null`},
		{"another kind", `{"kind":"L"}`, `the kind has become "L"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, err := dicts.DecodeObject([]byte(before))
			if err != nil {
				t.Fatal(err)
			}
			after, err := dicts.DecodeObject([]byte(tt.after))
			if err != nil {
				t.Fatal(err)
			}
			converted, err := reviews.Converted(old, after, "g/v2")
			got := string(dicts.Encode(converted))
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConvertedNamesThatAreNoTexts: any client of the webhook server chooses the object. A comparison that panics would end the
// process, as conversions run in goroutines of their own.
func TestConvertedNamesThatAreNoTexts(t *testing.T) {
	for name, want := range map[string]bool{`{}`: true, `[]`: true, `[{}]`: true, `"n"`: false, `{"a":1}`: false} {
		decoded := func(name string) dicts.Object {
			object, err := dicts.DecodeObject([]byte(`{"kind":"K","metadata":{"name":` + name + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			return object
		}
		other := `{"a":2}`
		if want {
			other = name
		}
		if _, err := reviews.Converted(decoded(name), decoded(other), "g/v2"); (err == nil) != want {
			t.Errorf("%s and %s: %v", name, other, err)
		}
	}
}

func TestBadConversionReviews(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{`, "The review cannot be read"},
		{`[]`, "not an object"},
		{`{"kind":"AdmissionReview"}`, "The kind of the review"},
		{`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1"}`, "The version of the review"},
		{`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, "The request is missing"},
		{`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}}`, "The desired version is missing"},
	} {
		if _, err := reviews.DecodeConversion([]byte(tt.text)); err == nil || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}
