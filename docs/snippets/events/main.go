// Command events shows how handlers post Kubernetes events.
package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", create)
	kopf.OnUpdate("kopfexamples", update)
}

// [events]

func create(c *kopf.Change) (any, error) {
	if err := c.Events.Info("Created", "the volume is there"); err != nil {
		return nil, err
	}
	if err := c.Events.Warn("Slow", "it took a while"); err != nil {
		return nil, err
	}
	return nil, c.Events.Exception(errors.New("no backup"), "", "the backup failed:")
}

// [/events]

// [about]

func update(c *kopf.Change) (any, error) {
	pod := kopf.Map{"apiVersion": "v1", "kind": "Pod", "metadata": kopf.Map{"namespace": "default", "name": "pod-1"}}
	return nil, c.Events.About(pod).Post("Normal", "Restarted", "by the operator")
}

// [/about]

func main() {}
