// Command conversion shows handlers that convert objects between versions.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [convert]

func init() {
	kopf.OnConvert("widgets.example.com", "v1", "v2", toV2)
	kopf.OnConvert("widgets.example.com", "v2", "v1", toV1)
}

func toV2(c *kopf.Conversion) error {
	rename(kopf.Nested(c.Object, "spec"), "size", "replicas")
	return nil
}

func toV1(c *kopf.Conversion) error {
	rename(kopf.Nested(c.Object, "spec"), "replicas", "size")
	return nil
}

func rename(spec kopf.Map, old, name string) {
	if value, exists := spec[old]; exists {
		spec[name] = value
		delete(spec, old)
	}
}

// [/convert]

func main() {}
