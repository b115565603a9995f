// Command 15-timers calls handlers again and again, while their objects exist.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnTimer("kopfexamples", often, kopf.ID("often"), kopf.Interval(2*time.Second))
	kopf.OnTimer("kopfexamples", whenIdle, kopf.ID("whenIdle"), kopf.Idle(5*time.Second), kopf.Interval(5*time.Second))
	kopf.OnTimer("kopfexamples", onTheDot, kopf.ID("onTheDot"), kopf.Interval(3*time.Second), kopf.Sharp(), kopf.InitialDelay(time.Second))
}

func often(t *kopf.Timer) (any, error) {
	return kopf.Map{"field": t.Spec.Get("field")}, nil // to the status
}

func whenIdle(t *kopf.Timer) (any, error) {
	t.Log.Info("nothing has changed for 5 seconds")
	return nil, nil
}

// onTheDot takes a while, but begins every 3 seconds; now and then it fails.
func onTheDot(t *kopf.Timer) (any, error) {
	if t.Retry == 0 && time.Now().Second()%4 == 0 {
		return nil, kopf.Temporary("not now", kopf.Delay(time.Second))
	}
	return nil, t.Sleep(time.Second)
}

func main() {}
