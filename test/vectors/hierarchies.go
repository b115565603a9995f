package vectors

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// These functions are called by guests, so it is the SDK that is judged.
var hierarchyFunctions = map[string]Function{
	"hierarchies": {Call: adopt},
	"references":  {Call: refer},
}

// adopt changes objects by one of the functions that make children. Without an
// owner in the recording, there is none.
func adopt(c Case) (any, error) {
	var owner kopf.Owner
	if body, ok := c.raw["owner"]; ok {
		owner = kopf.OwnerOf(kopf.JSON(body))
	}
	how, err := adoption(c)
	if err != nil {
		return nil, err
	}
	objs := kopf.JSON(c.raw["objs"]).Any()
	switch fn := c.In["fn"]; fn {
	case "adopt":
		err = owner.Adopt(objs, how)
	case "append_owner_reference":
		err = owner.AppendOwnerReference(objs, how)
	case "remove_owner_reference":
		err = owner.RemoveOwnerReference(objs)
	case "label":
		err = owner.Label(objs, how)
	case "harmonize_naming":
		err = owner.HarmonizeNaming(objs, how)
	case "adjust_namespace":
		err = owner.AdjustNamespace(objs, how)
	default:
		err = fmt.Errorf("unknown function %v", fn)
	}
	if err != nil {
		return nil, err
	}
	return fromGuest(objs)
}

func refer(c Case) (any, error) {
	body := kopf.JSON(c.raw["body"])
	var ref kopf.Map
	how, err := adoption(c)
	if err != nil {
		return nil, err
	}
	switch fn := c.In["fn"]; fn {
	case "build_object_reference":
		ref, err = kopf.BuildObjectReference(body)
	case "build_owner_reference":
		ref, err = kopf.BuildOwnerReference(body, how)
	default:
		err = fmt.Errorf("unknown function %v", fn)
	}
	if err != nil {
		return nil, err
	}
	return fromGuest(ref)
}

// adoption makes options of the recorded arguments. What was said as null is
// not what was not said: no namespace, or no flag.
func adoption(c Case) (how kopf.Adoption, err error) {
	options := dicts.LookupObject(c.In, "kwargs")
	how.Forced, how.Strict = options["forced"] == true, options["strict"] == true
	how.Controller, how.BlockOwnerDeletion = ownerFlag(options, "controller"), ownerFlag(options, "block_owner_deletion")
	how.Name = dicts.LookupString(c.In, "name")
	if labels, ok := c.raw["labels"]; ok {
		how.Labels = kopf.JSON(labels).Map()
	}
	if _, ok := c.In["namespace"]; ok {
		namespace := dicts.LookupString(c.In, "namespace")
		how.Namespace = &namespace
	}
	nested := options["nested"]
	if text, ok := nested.(string); ok {
		nested = []any{text}
	}
	paths, err := parsePaths(nested)
	for _, path := range paths {
		how.Nested = append(how.Nested, path)
	}
	return how, err
}

func ownerFlag(options dicts.Object, name string) kopf.OwnerFlag {
	switch value, said := options[name]; {
	case !said || value == true:
		return kopf.FlagTrue
	case value == nil:
		return kopf.FlagOmitted
	}
	return kopf.FlagFalse
}

// fromGuest is a value of a guest as the recordings have it.
func fromGuest(value any) (any, error) {
	text, err := kopf.Encode(value)
	if err != nil {
		return nil, err
	}
	return dicts.Decode(json.RawMessage(text))
}
