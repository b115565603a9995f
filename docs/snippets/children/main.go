// Command children shows how an operator keeps children of its objects.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [card]

func init() {
	kopf.Want(kopf.Capabilities{Kubernetes: []kopf.KubernetesRule{
		{Groups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}},
	}})
	kopf.OnCreate("memberships", card)
	kopf.OnUpdate("memberships", card)
	kopf.OnResume("memberships", card)
}

func card(c *kopf.Change) (any, error) {
	child := kopf.Map{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": kopf.Map{"name": c.Name + "-card"},
		"data":     kopf.Map{"member": c.Spec.Get("member")},
	}
	if err := c.Adopt(child); err != nil {
		return nil, err
	}
	applied, err := c.API("v1", "configmaps").Apply(child)
	if err != nil {
		return nil, err
	}
	return applied.Get("metadata", "name"), nil
}

// [/card]

func main() {}
