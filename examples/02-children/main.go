// Command 02-children gives each EphemeralVolumeClaim a PersistentVolumeClaim, and
// shows in its status what becomes of it.
package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

const claimOf = "ephemeralvolumeclaims.example.com/claim-of" // a label

func init() {
	kopf.Operator("volumes", "1.0")
	kopf.Want(kopf.Capabilities{Kubernetes: []kopf.KubernetesRule{
		{Groups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"create", "patch"}},
		{Groups: []string{"example.com"}, Resources: []string{"ephemeralvolumeclaims"}, Verbs: []string{"patch"}},
	}})
	kopf.OnCreate("ephemeralvolumeclaims", applyClaim, kopf.ID("applyClaim"))
	kopf.OnUpdate("ephemeralvolumeclaims", applyClaim, kopf.ID("applyClaim"))
	kopf.OnEvent("persistentvolumeclaims", reportPhase, kopf.ID("reportPhase"), kopf.Label(claimOf, kopf.Present))
}

// applyClaim can be repeated: the claim is created, adopted if it is there already,
// or changed. The cluster deletes it with its owner.
func applyClaim(c *kopf.Change) (any, error) {
	size := c.Spec.Get("size").String()
	if size == "" {
		return nil, kopf.Permanent("a volume needs a size")
	}
	labels := c.Labels.Map()
	labels[claimOf] = c.Name
	claim := kopf.Map{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"metadata":   kopf.Map{"name": c.Name, "labels": labels},
		"spec": kopf.Map{
			"accessModes": []string{"ReadWriteOnce"},
			"resources":   kopf.Map{"requests": kopf.Map{"storage": size}},
		},
	}
	if err := c.Adopt(claim); err != nil {
		return nil, err
	}
	applied, err := c.API("v1", "persistentvolumeclaims").Apply(claim)
	switch {
	case errors.Is(err, kopf.ErrInvalid):
		return nil, kopf.PermanentFrom(err, "the claim cannot be changed")
	case errors.Is(err, kopf.ErrConflict):
		return nil, kopf.PermanentFrom(err, "another manager owns the claim of this name")
	case err != nil:
		return nil, err
	}
	return kopf.Map{"claim": applied.Get("metadata", "name")}, nil
}

// reportPhase is called when a claim changes, or comes into sight at the start.
func reportPhase(e *kopf.Event) (any, error) {
	owner := e.Labels.Get(claimOf).String()
	phase := e.Status.Get("phase")
	if e.Type == "DELETED" || !phase.Exists() {
		return nil, nil
	}
	_, err := e.API("example.com/v1", "ephemeralvolumeclaims").Patch(owner, kopf.Map{"status": kopf.Map{"phase": phase}})
	if errors.Is(err, kopf.ErrNotFound) { // it is gone, and the claim will follow
		return nil, nil
	}
	return nil, err
}

func main() {}
