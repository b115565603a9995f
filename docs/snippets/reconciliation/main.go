// Command reconciliation compares an external state with the desired one.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [timer]

func init() {
	kopf.OnTimer("kopfexamples", compare, kopf.Interval(5*time.Minute))
}

func compare(t *kopf.Timer) (any, error) {
	want := t.Spec.Get("replicas").Int()
	if have := measure(t.Name); have != want {
		t.Log.Info("the state differs", "want", want, "have", have)
		t.Patch.Status.Set("missing", want-have)
	}
	return nil, nil
}

// [/timer]

func measure(string) int { return 1 }

func main() {}
