package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// registerVersions registers single steps between three versions:
//
//	v1  {size: 5}
//	v2  {replicas: 5}
//	v3  {scale: {replicas: 5}}
func registerVersions(widgets kopf.Selector) {
	kopf.OnConvert(widgets, "v1", "v2", renamed("size", "replicas"), kopf.ID("up-12"))
	kopf.OnConvert(widgets, "v2", "v1", renamed("replicas", "size"), kopf.ID("down-21"))
	kopf.OnConvert(widgets, "v2", "v3", nest, kopf.ID("up-23"))
	kopf.OnConvert(widgets, "v3", "v2", flatten, kopf.ID("down-32"))
}

func renamed(from, to string) kopf.ConvertFunc {
	return func(c *kopf.Conversion) error {
		spec := kopf.Nested(c.Object, "spec")
		if value, ok := spec[from]; ok {
			spec[to] = value
			delete(spec, from)
		}
		kopf.Nested(c.Object, "metadata", "annotations")["converted-to"] = c.To
		return misbehave(c)
	}
}

func nest(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	if value, ok := spec["replicas"]; ok {
		spec["scale"] = kopf.Map{"replicas": value}
		delete(spec, "replicas")
	}
	return nil
}

func flatten(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	if scale, ok := spec["scale"].(kopf.Map); ok {
		spec["replicas"] = scale["replicas"]
		delete(spec, "scale")
	}
	return nil
}

// misbehave does what the object wants, in the first step only.
func misbehave(c *kopf.Conversion) error {
	do, _ := kopf.Nested(c.Object, "spec")["convert"].(string)
	switch do {
	case "fail":
		return errors.New("this one cannot be converted")
	case "rename":
		kopf.Nested(c.Object, "metadata")["name"] = "other"
	case "panic":
		panic("a conversion panics")
	case "finalize":
		kopf.Nested(c.Object, "metadata")["finalizers"] = []any{"example.com/x"}
	}
	return nil
}
