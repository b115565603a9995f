package daemons

import (
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestCallsOfDaemonsKeepBodiesAsText: thousands of them can wait for a request, and small values take sixty times their text
// when they are decoded.
func TestCallsOfDaemonsKeepBodiesAsText(t *testing.T) {
	for name, spec := range map[string]string{
		"as the API server stores it": `{"many":[{"a":0},{"a":0}]}`,
		"escapes of the API server":   `{"many":[{"a":"\u003c"}]}`,
		"not ASCII":                   `{"many":[{"a":"é"}]}`,
		"other numbers":               `{"many":[{"a":1e3},{"a":-0}]}`,
		"another order":               `{"b":[],"a":{"a":0}}`,
	} {
		s := newScene(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"},"spec":`+spec+`}`)
		b := s.newLife(t, `{"id":"fn","kind":"daemon","resource":{"args":["x"]}}`)
		b.engine.Decode = func(raw []byte) (dicts.Object, error) {
			return dicts.DecodeBody(raw, func(string, string) bool { return true })
		}
		c, err := b.awake(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := dicts.Decode([]byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		if _, lazy := c.Body["spec"].(*dicts.Lazy); !lazy || !dicts.Equal(c.Body["spec"], want) {
			t.Errorf("%s: the spec is %T %v", name, c.Body["spec"], c.Body["spec"])
		}
	}
}
