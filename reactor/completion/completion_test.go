package completion

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// An operator that runs once waits for streams that have not begun, then for their
// objects.
func TestCompletionWaitsForStreams(t *testing.T) {
	key := dimensions.Dimension{Resource: selectors.Resource{Plural: "apples"}}.Key()
	c := New(true)
	for _, step := range []struct {
		name    string
		happens func()
		settled bool
	}{
		{"nothing is known", func() {}, false},
		{"a stream is about to start", func() { c.Expect(key); c.Begin() }, false},
		{"an object is listed", func() { c.Add("uid") }, false},
		{"all objects are listed", func() { c.Listed(key) }, false},
		{"the object is handled", func() { c.Done("uid") }, true},
		{"another object", func() { c.Done("other") }, true},
	} {
		step.happens()
		if settled, handled, _ := c.State(); settled != step.settled || settled != (handled == 1) {
			t.Errorf("%s: settled: %t, %d objects", step.name, settled, handled)
		}
	}
}
