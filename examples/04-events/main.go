// Command 04-events posts Kubernetes events about the handled object, and about another one.
package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", create, kopf.ID("create_fn")) }

func create(c *kopf.Change) (any, error) {
	other := kopf.Map{"apiVersion": "v1", "kind": "ConfigMap", "metadata": kopf.Map{"name": "other", "namespace": c.Namespace}}
	return nil, errors.Join(
		c.Events.Post("Greeting", "Arrived", "any type, any reason"),
		c.Events.Info("Checked", "all is well"),
		c.Events.Warn("Slow", "it takes a while"),
		c.Events.Exception(errors.New("no backup"), "Failed", "the backup:"),
		c.Events.About(other).Info("Mentioned", "by an example"),
	)
}

func main() {}
