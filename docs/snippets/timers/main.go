// Command timers shows handlers that are called again and again.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [interval]

func init() {
	kopf.OnTimer("kopfexamples", ping, kopf.Interval(time.Minute))
}

func ping(t *kopf.Timer) (any, error) {
	t.Patch.Status.Set("pinged", t.Started().Format(time.RFC3339))
	return nil, nil
}

// [/interval]

func init() {
	// [options]
	kopf.OnTimer("kopfexamples", ping, kopf.ID("sharp"), kopf.Interval(time.Minute), kopf.Sharp())
	kopf.OnTimer("kopfexamples", ping, kopf.ID("idle"), kopf.Interval(time.Minute), kopf.Idle(10*time.Second))
	kopf.OnTimer("kopfexamples", ping, kopf.ID("late"), kopf.Interval(time.Minute), kopf.InitialDelay(5*time.Second))
	// [/options]
}

func main() {}
