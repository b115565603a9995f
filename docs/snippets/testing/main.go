// Command testing has a handler that is tested.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", createFn)
	kopf.OnUpdate("kopfexamples", updateFn)
}

// [handler]

func createFn(c *kopf.Change) (any, error) {
	if !c.Spec.Get("paid").Bool() {
		return nil, kopf.Temporary("it is not paid yet", kopf.Delay(5*time.Second))
	}
	c.Patch.Status.Set("phase", "Active")
	return kopf.Map{"days": c.Spec.Get("days")}, nil
}

// [/handler]

func updateFn(c *kopf.Change) (any, error) {
	c.Log.Info("renewed", "from", c.Old.Get("spec", "days"), "to", c.New.Get("spec", "days"))
	if err := c.Sleep(time.Minute); err != nil {
		return nil, err
	}
	return nil, c.Events.Info("Renewed", "thank you")
}

// [main]

func main() { kopf.Main() }

// [/main]
