// Command subhandlers shows handlers that declare others while they run.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", create)
	kopf.OnUpdate("kopfexamples", update)
}

// [sub]

func create(c *kopf.Change) (any, error) {
	for name, volume := range c.Spec.Get("volumes").Members() {
		c.Sub(name, func(c *kopf.Change) (any, error) {
			return mount(c, volume)
		}, kopf.Retries(5))
	}
	return nil, nil // the sub-handlers run now
}

// [/sub]

func mount(*kopf.Change, kopf.View) (any, error) { return nil, nil }

// [execute]

func update(c *kopf.Change) (any, error) {
	if err := c.Execute(kopf.Sub("", prepare), kopf.Sub("", migrate)); err != nil {
		return nil, err // to be called again, unless it is all done
	}
	c.Log.Info("both are finished") // logged once
	return nil, nil
}

// [/execute]

func prepare(*kopf.Change) (any, error) { return nil, nil }
func migrate(*kopf.Change) (any, error) { return nil, nil }

func main() {}
