// Command 01-minimal is the smallest operator: it logs each new object, marks it
// in its status, and returns a result.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() { kopf.OnCreate("kopfexamples", createFn, kopf.ID("createFn")) }

func createFn(c *kopf.Change) (any, error) {
	c.Log.Info("a new object", "field", c.Spec.Get("field"))
	c.Patch.Status.Set("seen", true)
	return kopf.Map{"message": "hello"}, nil
}

func main() {}
