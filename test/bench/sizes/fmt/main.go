// Command fmt is the smallest operator, with package fmt: for its size.
package main

import (
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", createFn) }

func createFn(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("seen", fmt.Sprintf("%v", c.Spec.Get("field")))
	return kopf.Map{"message": "hello"}, nil
}

func main() {}
