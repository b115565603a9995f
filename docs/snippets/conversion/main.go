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
	spec := kopf.Nested(c.Object, "spec")
	spec["replicas"] = spec["size"]
	delete(spec, "size")
	return nil
}

func toV1(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	spec["size"] = spec["replicas"]
	delete(spec, "replicas")
	return nil
}

// [/convert]

func main() {}
