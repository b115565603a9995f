// Command hierarchies shows how objects become children of the handled one.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", create)
	kopf.OnUpdate("kopfexamples", update)
}

// [adopt]

func create(c *kopf.Change) (any, error) {
	pod := kopf.Map{"apiVersion": "v1", "kind": "Pod"}
	if err := c.Adopt(pod); err != nil {
		return nil, err
	}
	c.Patch.Status.Set("child", pod)
	return nil, nil
}

// [/adopt]

// [options]

func update(c *kopf.Change) (any, error) {
	deployment := kopf.Map{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": kopf.Map{"template": kopf.Map{"spec": kopf.Map{}}},
	}
	err := c.Adopt(deployment, kopf.Adoption{
		Strict: true, // the owner's name, without a suffix
		Labels: kopf.Map{"app.example.com/of": c.Name},
		Nested: [][]string{{"spec", "template"}}, // the pods get the labels too
	})
	return nil, err
}

// [/options]

func main() {}
