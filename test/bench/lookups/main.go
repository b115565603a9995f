// Command lookups is the Go guest of the benchmark of indices: a handler that looks
// up one key, and asks how many there are.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() {
	kopf.OnCreate("kopfexamples", createFn, kopf.ID("create_fn"))
	kopf.OnIndex("kopfexamples", names)
}

func names(o *kopf.Indexed) (any, error) { return kopf.Pairs{{Key: o.Name, Value: o.UID}}, nil }

func createFn(c *kopf.Change) (any, error) {
	index := c.Index("names")
	return kopf.Map{"found": len(index.Get(c.Name)), "has": index.Has("absent"), "keys": index.Len()}, nil
}

func main() {}
