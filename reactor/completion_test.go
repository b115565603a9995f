package reactor

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// An operator that runs once waits for streams that have not begun yet, then for their
// objects.
func TestCompletionWaitsForStreams(t *testing.T) {
	key := dimension{resource: selectors.Resource{Plural: "apples"}}.key()
	c := newCompletion(true)
	for _, step := range []struct {
		name    string
		happens func()
		settled bool
	}{
		{"nothing is known", func() {}, false},
		{"a stream is about to start", func() { c.expect(key); c.begin() }, false},
		{"an object is listed", func() { c.add("uid") }, false},
		{"all objects are listed", func() { c.listed(key) }, false},
		{"the object is handled", func() { c.done("uid") }, true},
		{"another object", func() { c.done("other") }, true},
	} {
		step.happens()
		if settled, handled, _ := c.state(); settled != step.settled || settled != (handled == 1) {
			t.Errorf("%s: settled: %t, %d objects", step.name, settled, handled)
		}
	}
}
