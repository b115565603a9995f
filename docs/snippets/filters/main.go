// Command filters shows how handlers select objects.
package main

import (
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	// [metadata]
	kopf.OnCreate("kopfexamples", ready,
		kopf.Label("tier", "production"),
		kopf.Label("owner", kopf.Present),
		kopf.Annotation("example.com/ignore", kopf.Absent))
	// [/metadata]

	// [callback]
	kopf.OnUpdate("kopfexamples", ready,
		kopf.Label("version", func(c *kopf.Cause) bool {
			return strings.HasPrefix(c.Value.String(), "v2")
		}))
	// [/callback]

	// [field]
	kopf.OnUpdate("kopfexamples", ready, kopf.ID("resized"),
		kopf.Field("spec.size"), kopf.OldValue("small"), kopf.NewValue("large"))
	kopf.OnCreate("kopfexamples", ready, kopf.ID("labelled"),
		kopf.Field("metadata", "labels", "example.com/tier"), kopf.Value(kopf.Present))
	// [/field]

	// [when]
	kopf.OnCreate("kopfexamples", ready, kopf.ID("selected"),
		kopf.When(kopf.All(inTest, kopf.Not(isPaused))))
	// [/when]
}

// [functions]

func inTest(c *kopf.Cause) bool   { return strings.HasPrefix(c.Namespace, "test-") }
func isPaused(c *kopf.Cause) bool { return c.Spec.Get("paused").Bool() }

// [/functions]

func ready(*kopf.Change) (any, error) { return nil, nil }

func main() {}
