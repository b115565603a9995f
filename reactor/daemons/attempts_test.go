package daemons

import (
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestCallsOfDaemonsKeepBodiesAsText: thousands of them can wait for a request, and small values take sixty times their text
// when they are decoded.
func TestCallsOfDaemonsKeepBodiesAsText(t *testing.T) {
	s := newScene(t, &reactortest.Scripted{}, `{"metadata":{"name":"x"},"spec":{"many":[{"a":0},{"a":0}]}}`)
	b := s.newLife(t, `{"id":"fn","kind":"daemon","resource":{"args":["x"]}}`)
	b.engine.Decode = func(raw []byte) (dicts.Object, error) {
		return dicts.DecodeBody(raw, func(string, string) bool { return true })
	}
	c, err := b.awake()
	if err != nil {
		t.Fatal(err)
	}
	if _, lazy := c.Body["spec"].(*dicts.Lazy); !lazy {
		t.Errorf("the spec is decoded: %T", c.Body["spec"])
	}
}
