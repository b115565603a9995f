// Command 07-subhandlers has a handler for each item of a list: each has its own progress,
// retries and result.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", create, kopf.ID("create_fn")) }

func create(c *kopf.Change) (any, error) {
	for _, view := range c.Spec.Get("items").Items() {
		item := view.String()
		c.Sub(item, func(c *kopf.Change) (any, error) {
			if item == "late" && c.Retry == 0 {
				return nil, kopf.Temporary("once more", kopf.Delay(time.Second))
			}
			return "hello, " + item, nil
		})
	}
	return nil, nil // the sub-handlers run now
}

func main() {}
