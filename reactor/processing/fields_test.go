package processing

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestFieldsThatCannotExist: an object is not handled while the parent of a watched field is not an object,
// also if that field is inside of another one.
func TestFieldsThatCannotExist(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	for name, fields := range map[string][][]string{
		"alone": {{"spec", "c", "d"}}, "inside of another one": {{"spec", "c"}, {"spec", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			var handlers []abi.Handler
			for _, field := range fields {
				handlers = append(handlers, abi.Handler{Kind: abi.KindUpdate, ID: dicts.Path(field).String(), Resource: &resource, Field: field})
			}
			registry, err := registries.New(reactortest.Instant{Handlers: handlers})
			if err != nil {
				t.Fatal(err)
			}
			of := registry.ForResource(selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"})
			for spec, wrong := range map[string]bool{`{}`: false, `{"c":{}}`: false, `{"c":{"d":1}}`: false, `{"c":"text"}`: true, `{"c":[]}`: true} {
				body, err := dicts.DecodeObject([]byte(`{"metadata":{},"spec":` + spec + `}`))
				if err != nil {
					t.Fatal(err)
				}
				_, err = Detect(&settings.Default().Persistence, of, causes.Observation{Body: body})
				if wrong != errors.Is(err, dicts.ErrNotObject) || !wrong && err != nil {
					t.Errorf("%s: %v", spec, err)
				}
			}
		})
	}
}
