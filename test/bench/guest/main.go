// Command guest is the Go guest of the benchmarks: two handlers that copy one field
// of the spec to the status. With the configuration posting=on, log messages about
// objects are posted as events.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() {
	kopf.OnCreate("kopfexamples", createFn, kopf.ID("create_fn"))
	kopf.OnUpdate("kopfexamples", updateFn, kopf.ID("update_fn"))
	kopf.OnStartup(startupFn, kopf.ID("startup_fn"))
}

func startupFn(a *kopf.Activity) (any, error) {
	a.Settings.Set("posting.loggers", kopf.Config("posting") == "on")
	return nil, nil
}

func createFn(c *kopf.Change) (any, error) { return nil, copyField(c) }
func updateFn(c *kopf.Change) (any, error) { return nil, copyField(c) }

func copyField(c *kopf.Change) error {
	c.Patch.Status.Set("field", c.Spec.Get("field").String())
	return nil
}

func main() {}
