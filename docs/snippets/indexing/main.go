// Command indexing shows how handlers look at other objects.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [keyed]

func init() {
	kopf.OnIndex("pods", podsByNode, kopf.ID("pods_by_node"))
	kopf.OnCreate("kopfexamples", create)
}

func podsByNode(o *kopf.Indexed) (any, error) {
	node := o.Spec.Get("nodeName").String()
	return kopf.Pairs{{Key: node, Value: o.Name}}, nil
}

func create(c *kopf.Change) (any, error) {
	index := c.Index("pods_by_node")
	for _, pod := range index.Get(c.Spec.Get("node")) {
		c.Log.Info("a neighbour", "pod", pod)
	}
	return nil, nil
}

// [/keyed]

// [values]

func init() {
	kopf.OnIndex("kopfexamples", names)
	kopf.OnUpdate("kopfexamples", update)
}

func names(o *kopf.Indexed) (any, error) { return o.Name, nil }

func update(c *kopf.Change) (any, error) {
	c.Log.Info("all of us", "names", c.Index("names").Get(nil))
	return nil, nil
}

// [/values]

func main() {}
