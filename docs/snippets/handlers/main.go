// Command handlers shows the kinds of handlers.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [changes]

func init() {
	kopf.OnCreate("kopfexamples", created)
	kopf.OnUpdate("kopfexamples", updated)
	kopf.OnDelete("kopfexamples", deleted)
	kopf.OnResume("kopfexamples", resumed)
}

func updated(c *kopf.Change) (any, error) {
	for _, item := range c.Diff() {
		c.Log.Info("changed", "op", item.Op, "path", item.Path, "old", item.Old, "new", item.New)
	}
	return nil, nil
}

// [/changes]

func created(*kopf.Change) (any, error) { return nil, nil }
func deleted(*kopf.Change) (any, error) { return nil, nil }

func init() {
	// [optional]
	kopf.OnDelete("kopfexamples", deleted, kopf.Optional())
	// [/optional]
	// [deleted]
	kopf.OnResume("kopfexamples", resumed, kopf.Deleted())
	// [/deleted]
}

func resumed(*kopf.Change) (any, error) { return nil, nil }

// [field]

func init() {
	kopf.OnField("kopfexamples", resize, kopf.Field("spec.size"))
}

func resize(c *kopf.Change) (any, error) {
	c.Log.Info("the size", "old", c.Old, "new", c.New) // values of spec.size
	return nil, nil
}

// [/field]

// [event]

func init() {
	kopf.OnEvent("pods", spied)
}

func spied(e *kopf.Event) (any, error) {
	if e.Type == "" {
		return nil, nil // it is in the listing at the start
	}
	e.Log.Info("seen", "type", e.Type, "phase", e.Status.Get("phase"))
	return nil, nil
}

// [/event]

// [options]

var patient = kopf.Join(kopf.Retries(10), kopf.Backoff(time.Minute)) // an AttemptOption

func init() {
	kopf.OnCreate("kopfexamples", provision, patient, kopf.Label("app", kopf.Present))
	kopf.OnTimer("kopfexamples", check, patient, kopf.Interval(time.Hour))
}

// [/options]

func provision(*kopf.Change) (any, error) { return nil, nil }
func check(*kopf.Timer) (any, error)      { return nil, nil }

// [several]

func init() {
	kopf.OnCreate("kopfexamples", ensure, kopf.ID("small"), kopf.Param(1))
	kopf.OnCreate("kopfexamples", ensure, kopf.ID("large"), kopf.Param(10))
}

func ensure(c *kopf.Change) (any, error) {
	c.Log.Info("ensured", "size", c.Param.Int())
	return nil, nil
}

// [/several]

// [one-function]

func init() {
	kopf.OnCreate("kopfexamples", reconcile)
	kopf.OnUpdate("kopfexamples", reconcile)
	kopf.OnResume("kopfexamples", reconcile)
}

// [/one-function]

func reconcile(*kopf.Change) (any, error) { return nil, nil }

func init() {
	// [closure]
	for _, size := range []string{"small", "large"} {
		kopf.OnCreate("kopfexamples", func(c *kopf.Change) (any, error) {
			c.Log.Info("a closure", "size", size)
			return nil, nil
		}, kopf.ID("create-"+size))
	}
	// [/closure]

	// [lifecycle]
	kopf.DefaultLifecycle(kopf.AllAtOnce)
	// [/lifecycle]
}

func main() {}
