// Command 09-testing is an operator whose handlers are tested: see main_test.go.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() { kopf.OnCreate("kopfexamples", create, kopf.ID("create_fn")) }

func create(c *kopf.Change) (any, error) {
	if c.Spec.Get("field").String() == "wrong" {
		return nil, kopf.Permanent("this field is wrong")
	}
	c.Log.Info("tested")
	c.Patch.Status.Set("tested", true)
	return kopf.Map{"field": c.Spec.Get("field")}, nil
}

func main() {}
