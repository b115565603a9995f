package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// hierarchyFuncs are the functions that make children, by their names in the reference.
var hierarchyFuncs = map[string]func(kopf.Owner, any, kopf.Adoption) error{
	"adopt":                  func(o kopf.Owner, objs any, how kopf.Adoption) error { return o.Adopt(objs, how) },
	"append_owner_reference": func(o kopf.Owner, objs any, how kopf.Adoption) error { return o.AppendOwnerReference(objs, how) },
	"remove_owner_reference": func(o kopf.Owner, objs any, _ kopf.Adoption) error { return o.RemoveOwnerReference(objs) },
	"label":                  func(o kopf.Owner, objs any, how kopf.Adoption) error { return o.Label(objs, how) },
	"harmonize_naming":       func(o kopf.Owner, objs any, how kopf.Adoption) error { return o.HarmonizeNaming(objs, how) },
	"adjust_namespace":       func(o kopf.Owner, objs any, how kopf.Adoption) error { return o.AdjustNamespace(objs, how) },
}

// opHierarchy makes children of the handled object, and prints them.
func opHierarchy(c *call, arg any) error {
	if c.object == nil {
		return errors.New("hierarchies are for handlers of objects")
	}
	a := argsOf(arg)
	objs := normal(a["objs"]) // a copy: they are changed in place
	names := []string{}
	for _, item := range scriptOf(a["calls"]) {
		name := args(item).text("fn")
		call, ok := hierarchyFuncs[name]
		if !ok {
			return fmt.Errorf("unknown function: %s", name)
		}
		owner, kwargs := c.object.Owner, argsOf(item["kwargs"])
		if other, said := kwargs["owner"]; said {
			owner = kopf.OwnerOf(other)
		}
		if err := call(owner, objs, toAdoption(kwargs)); err != nil {
			return err
		}
		names = append(names, name)
	}
	c.in.emit(object{"hierarchy": names, "objs": objs})
	return nil
}

// toAdoption brings the arguments of the reference into those of the SDK.
func toAdoption(a args) kopf.Adoption {
	how := kopf.Adoption{Forced: a["forced"] == true || a["force"] == true, Strict: a["strict"] == true, Name: a.text("name")}
	how.Labels, _ = a["labels"].(object)
	if namespace, said := a["namespace"]; said {
		text, _ := namespace.(string)
		how.Namespace = &text
	}
	switch nested := a["nested"].(type) {
	case string:
		how.Nested = [][]string{fieldPath(nested)}
	case []any:
		for _, path := range nested {
			how.Nested = append(how.Nested, fieldPath(path))
		}
	}
	how.Controller, how.BlockOwnerDeletion = a.flag("controller"), a.flag("block_owner_deletion")
	return how
}

// fieldPath is the path of a field: a text with dots, or its keys.
func fieldPath(path any) []string {
	if keys, ok := path.([]any); ok {
		return parts(keys)
	}
	return strings.Split(fmt.Sprint(path), ".")
}

// flag is true if it is absent, and omitted if it is null.
func (a args) flag(name string) kopf.OwnerFlag {
	value, said := a[name]
	switch {
	case !said || value == true:
		return kopf.FlagTrue
	case value == false:
		return kopf.FlagFalse
	}
	return kopf.FlagOmitted
}
