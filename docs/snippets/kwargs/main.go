// Command kwargs shows what handlers get.
package main

import (
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", views)
	kopf.OnUpdate("kopfexamples", typed)
	volumes.OnCreate(provision)
}

// [views]

func views(c *kopf.Change) (any, error) {
	size := c.Spec.Get("volumes", 0, "size").Int() // 0 if any step is missing
	if c.Spec.Has("paused") && c.Labels.Get("tier").String() != "test" {
		c.Log.Info("paused", "size", size)
	}
	for name, value := range c.Annotations.Members() {
		c.Log.Debug("annotation", "name", name, "value", value)
	}
	return nil, nil
}

// [/views]

// [decode]

// VolumeSpec is the spec of our resource.
type VolumeSpec struct {
	Size  int      `json:"size"`
	Zones []string `json:"zones"`
}

func typed(c *kopf.Change) (any, error) {
	spec, err := kopf.Decode[VolumeSpec](c.Spec)
	if err != nil {
		return nil, err // spec.size: want an integer, got a string
	}
	c.Log.Info(fmt.Sprintf("%d GB in %d zones", spec.Size, len(spec.Zones)))
	return nil, nil
}

// [/decode]

// [spec]

var volumes = kopf.Typed[VolumeSpec]("volumes") // in init: volumes.OnCreate(provision)

func provision(c *kopf.ChangeOf[VolumeSpec]) (any, error) {
	return c.Spec.Size * max(len(c.Spec.Zones), 1), nil
}

// [/spec]

func main() {}
