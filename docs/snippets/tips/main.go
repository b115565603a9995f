// Command tips shows patterns of several features.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [never-again]

const done = "example.com/migrated"

func init() {
	kopf.OnResume("kopfexamples", migrate, kopf.Annotation(done, kopf.Absent))
}

func migrate(c *kopf.Change) (any, error) {
	c.Patch.Annotations.Set(done, "yes") // excludes the handler from now on, also after restarts
	return nil, nil
}

// [/never-again]

func main() {}
