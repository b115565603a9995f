// Command patches shows how handlers change the object that they handle.
package main

import (
	"slices"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", merge)
	kopf.OnUpdate("kopfexamples", edit)
	kopf.OnDelete("kopfexamples", fail)
}

// [merge]

func merge(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("phase", "Ready")
	c.Patch.Labels.Set("example.com/seen", "yes")
	c.Patch.Annotations.Delete("example.com/draft")
	c.Patch.In("spec", "template").Set("replicas", 3)
	c.Patch.Status.Merge(kopf.Map{"volumes": kopf.Map{"bound": 2}})
	return nil, nil
}

// [/merge]

// [edit]

func edit(c *kopf.Change) (any, error) {
	c.Patch.Edit(func(body kopf.Map) error {
		meta := kopf.Nested(body, "metadata")
		list, _ := meta["finalizers"].([]any)
		if !slices.Contains(list, any("example.com/mine")) {
			meta["finalizers"] = append(list, "example.com/mine")
		}
		return nil
	})
	return nil, nil
}

// [/edit]

// [failing]

func fail(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("attempts", c.Retry+1) // it is stored with each attempt
	return nil, kopf.Temporary("the backup is still running")
}

// [/failing]

func main() {}
