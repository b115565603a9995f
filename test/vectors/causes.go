package vectors

import (
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/patches"
)

// finalizer is the one of the recordings.
const finalizer = "kopf.zalando.org/KopfFinalizerMarker"

var causeFunctions = map[string]Function{
	"causes":      {Call: detectCause},
	"finalizers":  {Call: patchFinalizers, Equal: samePatchOps},
	"handler-ids": {Call: generateID},
}

func detectCause(c Case) (any, error) {
	metadata := dicts.Object{}
	if c.In["deleting"] == true {
		metadata["deletionTimestamp"] = "T"
	}
	if c.In["blocked"] == true {
		metadata["finalizers"] = []any{"other", finalizer}
	}
	body := dicts.Object{"metadata": metadata}
	maps.Copy(body, dicts.LookupObject(c.In, "new"))
	o := causes.Observation{
		EventType: dicts.LookupString(c.In, "event_type"),
		Body:      body,
		Finalizer: finalizer,
		Old:       dicts.LookupObject(c.In, "old"),
		Diff:      diffs.Compute(c.In["old"], c.In["new"], diffs.Full),
		Initial:   c.In["initial"] == true,
	}
	cause := causes.Detect(o)
	return dicts.Object{"reason": string(cause.Reason), "initial": cause.Initial}, nil
}

func patchFinalizers(c Case) (any, error) {
	body := dicts.Object{"metadata": dicts.Object{"name": "n"}}
	if list := c.In["finalizers"]; list != nil {
		body["metadata"] = dicts.Object{"name": "n", "finalizers": list}
	}
	edited := dicts.CloneObject(body)
	edit, ok := map[any]func(dicts.Object, string) error{
		"block_deletion": causes.BlockDeletion, "allow_deletion": causes.AllowDeletion,
	}[c.In["op"]]
	if !ok {
		return nil, fmt.Errorf("unknown operation %v", c.In["op"])
	}
	if err := edit(edited, finalizer); err != nil {
		return nil, err
	}
	list := []any{}
	for _, op := range patches.Diff(body, edited) {
		list = append(list, op.JSON())
	}
	return list, nil
}

// samePatchOps ignores operations that move items to where they are: the
// reference's library makes some after a finalizer that occurs twice.
func samePatchOps(c Case, got any) bool {
	ops, _ := c.Out.([]any)
	effective := []any{}
	for _, op := range ops {
		from := dicts.LookupString(op, "from")
		if from == "" || from != dicts.LookupString(op, "path") {
			effective = append(effective, op)
		}
	}
	return sameJSON(effective, got)
}

func generateID(c Case) (any, error) {
	id, ok := c.In["id"].(string)
	if !ok {
		id = dicts.LookupString(c.In, "function") // as the SDKs do
	}
	return ids.Generate(id, dicts.LookupString(c.In, "prefix"), dicts.LookupString(c.In, "suffix")), nil
}
