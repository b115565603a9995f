package reviews_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// These are the maximum allocations for each byte of a review, and in addition. Webhook
// servers limit concurrent decoding by these figures.
const (
	decodedPerByte = 100     // for decoding an object of the review into values
	readPerByte    = 40      // for reading the review around the objects
	allocatedElse  = 1 << 20 // includes allocations of the test
)

// worst returns the most expensive known texts for their length, as the object of a review
// or as the whole review.
func worst(size int) map[string]string {
	list := func(unit string) string {
		return `{"a":[` + strings.Repeat(unit+",", size/(len(unit)+1)) + `0]}`
	}
	object := func(key, value string) string {
		var text strings.Builder
		text.WriteString("{")
		for i := 0; text.Len() < size; i++ {
			fmt.Fprintf(&text, `"%s%x":%s,`, key, i, value)
		}
		return text.String() + `"":0}`
	}
	deep := func(open, middle, closing string, depth int) string {
		return `{"a":` + strings.Repeat(open, depth) + middle + strings.Repeat(closing, depth) + "}"
	}
	side := func(one string) string { return `{"a":[` + strings.Repeat(one+",", size/(len(one)+1)) + `0]}` }
	return map[string]string{
		"zeros":                   list("0"),
		"nulls":                   list("null"),
		"floats":                  list("1e9"),
		"empty strings":           list(`""`),
		"strings":                 list(`"a"`),
		"escaped strings":         list(`"\u00e9"`),
		"empty lists":             list("[]"),
		"lists of one":            list("[0]"),
		"empty objects":           list("{}"),
		"objects of one":          list(`{"":0}`),
		"objects of nine":         list(`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0}`),
		"keys":                    object("", "0"),
		"escaped keys":            object(`\u0061`, "0"),
		"keys of objects":         object("", "{}"),
		"one key many times":      "{" + strings.Repeat(`"a":{"":0},`, size/11) + `"":0}`,
		"a huge integer":          `{"a":` + strings.Repeat("9", size) + `}`,
		"a huge fraction":         `{"a":0.` + strings.Repeat("9", size) + `}`,
		"a huge exponent":         `{"a":1e` + strings.Repeat("9", size) + `}`,
		"a long key":              `{"` + strings.Repeat("a", size) + `":0}`,
		"a long escaped key":      `{"` + strings.Repeat(`\u00e9`, size/6) + `":0}`,
		"deep lists":              deep("[", "0", "]", 9990),
		"deep objects":            deep(`{"":`, "0", "}", 9990),
		"many deep lists":         side(deep("[", "0", "]", 900)),
		"many deep objects":       side(deep(`{"":`, "0", "}", 900)),
		"lists that are too deep": deep("[", "0", "]", size/2),
		"lists without an end":    `{"a":` + strings.Repeat("[", size),
		"objects without an end":  strings.Repeat(`{"a":`, size/5),
		"not UTF-8":               `{"a":"` + strings.Repeat("\xff", size) + `"}`,
		"half of surrogates":      `{"a":"` + strings.Repeat(`\ud800`, size/6) + `"}`,
		"blanks":                  strings.Repeat(" ", size) + "{}",
	}
}

func within(t *testing.T, what string, text string, perByte int, do func()) {
	t.Helper()
	if took := boundedtest.Allocated(do); took > perByte*len(text)+allocatedElse {
		t.Errorf("%s allocates %d bytes for %d, which is %d for each; want at most %d", what, took, len(text), took/len(text), perByte)
	}
}

// TestWorstReviews checks that the length of a review bounds its memory, for any content.
// A text that is not a review is an error of its sender.
func TestWorstReviews(t *testing.T) {
	const size = 1 << 20
	for name, object := range worst(size) {
		t.Run(name, func(t *testing.T) {
			for place, text := range map[string]string{
				"the whole":      object,
				"the request":    `{"request":` + object + `}`,
				"the object":     `{"request":{"resource":{},"userInfo":{},"object":` + object + `}}`,
				"the old object": `{"request":{"resource":{},"userInfo":{},"oldObject":` + object + `}}`,
				"the user":       `{"request":{"resource":{},"object":{},"userInfo":` + object + `}}`,
				"the resource":   `{"request":{"userInfo":{},"object":{},"resource":` + object + `}}`,
			} {
				within(t, place, text, readPerByte, func() {
					r, err := reviews.Decode([]byte(text))
					var bad *reviews.Error
					if err != nil && (!errors.As(err, &bad) || len(bad.Message) > 1000) {
						t.Errorf("%s: %.1000v", place, err)
					}
					if err == nil {
						_ = r.Check()
					}
				})
			}
			within(t, "an object", object, decodedPerByte, func() { _, _ = dicts.DecodeObject([]byte(object)) })
		})
	}
}

// TestWorstConversions checks the memory of conversions, which have many objects.
func TestWorstConversions(t *testing.T) {
	for name, object := range worst(300_000) {
		t.Run(name, func(t *testing.T) {
			head := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"desiredAPIVersion":"g/v1","objects":`
			for place, text := range map[string]string{
				"an object": head + "[" + object + "]}}", "objects": head + object[5:], "the whole": object,
			} {
				within(t, place, text, readPerByte, func() { _, _ = reviews.DecodeConversion([]byte(text)) })
			}
		})
	}
}

// TestTextsOfSendersAreShort checks texts of senders in errors, which are logged.
func TestTextsOfSendersAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"kind":       `{"kind":"` + long + `"}`,
		"version":    `{"apiVersion":"` + long + `"}`,
		"uid":        `{"request":{"uid":` + strings.Repeat("9", 1<<20) + `}}`,
		"no JSON":    long,
		"unexpected": `{"request":` + long + `}`,
	} {
		for what, decode := range map[string]func() error{
			"review":     func() error { _, err := reviews.Decode([]byte(text)); return err },
			"conversion": func() error { _, err := reviews.DecodeConversion([]byte(text)); return err },
		} {
			if err := decode(); err == nil || len(err.Error()) > 1000 {
				t.Errorf("%s, %s: an error of %d bytes", name, what, len(fmt.Sprint(err)))
			}
		}
	}
	conversion := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"desiredAPIVersion":"` + long + `"}}`
	if _, err := reviews.DecodeConversion([]byte(conversion)); err == nil || len(err.Error()) > 1000 {
		t.Errorf("the desired version: an error of %d bytes", len(fmt.Sprint(err)))
	}
	if text := reviews.UnknownResource(reviews.Resource{Group: long, Version: long, Resource: long}).Error(); len(text) > 1000 {
		t.Errorf("an unknown resource: %d bytes", len(text))
	}
}

// FuzzReviews checks that memory is bounded, and that errors are short.
func FuzzReviews(f *testing.F) {
	for _, text := range worst(200) {
		f.Add([]byte(text))
		f.Add([]byte(`{"request":{"uid":"u","resource":{"group":"g"},"userInfo":` + text + `,"object":` + text + `}}`))
		f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"desiredAPIVersion":"g/v1","objects":[` + text + `]}}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var objects [][]byte
		took := boundedtest.Allocated(func() {
			r, err := reviews.Decode(text)
			c, errConversion := reviews.DecodeConversion(text)
			for _, err := range []error{err, errConversion} {
				if err != nil && len(err.Error()) > 1000 {
					t.Errorf("an error of %d bytes: %.1000v", len(err.Error()), err)
				}
			}
			if err == nil && r.Check() == nil {
				objects = append(objects, r.Object, r.OldObject, r.UserInfo)
			}
			if errConversion == nil {
				for object := range dicts.Items(c.Objects) {
					objects = append(objects, object)
				}
			}
		})
		if most := 2*readPerByte*len(text) + allocatedElse; took > most {
			t.Errorf("reading allocates %d bytes for %d", took, len(text))
		}
		for _, object := range objects {
			if object == nil {
				continue
			}
			if took := boundedtest.Allocated(func() { _, _ = dicts.DecodeObject(object) }); took > decodedPerByte*len(object)+allocatedElse {
				t.Errorf("decoding allocates %d bytes for %d", took, len(object))
			}
		}
	})
}

// TestWorstPath: an operator chooses the steps, and a client how often a path is looked for.
func TestWorstPath(t *testing.T) {
	steps := make([]reviews.Step, 10_000)
	for i := range steps {
		steps[i] = reviews.Step{From: fmt.Sprint(i), To: fmt.Sprint(i + 1)}
	}
	var path []int
	allocated := boundedtest.Allocated(func() { path, _ = reviews.Path(steps, "0", fmt.Sprint(len(steps))) })
	if len(path) != len(steps) || path[1] != 1 || allocated > 16<<20 {
		t.Errorf("%d steps, %d bytes are allocated", len(path), allocated)
	}
}
