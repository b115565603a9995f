// Command 16-indexing lets handlers look at other objects without asking the cluster:
// an index of config maps by their labels, and one of all examples.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() {
	kopf.OnIndex("configmaps", byApp, kopf.ID("byApp"), kopf.Label("app", kopf.Present))
	kopf.OnIndex("kopfexamples", names, kopf.ID("names"))
	kopf.OnCreate("kopfexamples", create, kopf.ID("create"))
}

// byApp has several config maps for one key.
func byApp(o *kopf.Indexed) (any, error) {
	return kopf.Pairs{{Key: o.Labels.Get("app"), Value: o.Name}}, nil
}

// names has no keys.
func names(o *kopf.Indexed) (any, error) { return o.Name, nil }

func create(c *kopf.Change) (any, error) {
	var configs []string
	for _, name := range c.Index("byApp").Get(c.Spec.Get("field")) {
		configs = append(configs, name.String())
	}
	c.Log.Info("both are complete before any handler runs", "configs", configs, "examples", len(c.Index("names").Get(nil)))
	return kopf.Map{"configs": configs}, nil
}

func main() {}
