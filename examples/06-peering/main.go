// Command 06-peering is an operator like any other: operators of one peering object pause for
// the one with the highest priority.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() { kopf.OnCreate("kopfexamples", create, kopf.ID("create_fn")) }

func create(c *kopf.Change) (any, error) {
	c.Log.Info("handled by one operator only")
	c.Patch.Status.Set("handled", true)
	return nil, nil
}

func main() {}
