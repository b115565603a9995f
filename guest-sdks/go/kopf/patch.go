package kopf

import (
	"errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Patch collects changes of the handled object. They are applied after the
// handler, together with those of other handlers, also if it failed:
//
//	c.Patch.Status.Set("ready", true)
//	c.Patch.Labels.Set("app.example.com/seen", "yes")
//	c.Patch.In("spec", "template").Set("replicas", 3)
//
// It is a merge patch (RFC 7386): maps are merged, all other values replaced. To
// change lists by their items, use Edit.
//
// See https://docs.kopf.dev/en/latest/patches/
type Patch struct {
	PatchView // the whole object

	Meta, Spec, Status  PatchView
	Labels, Annotations PatchView

	root  patchNode
	edits guest.Transforms
	err   error // the first one
}

var errMerge = errors.New("only maps can be merged")

// PatchView is the part of a patch for a part of the object.
type PatchView struct {
	patch *Patch
	path  []string
}

// The paths of the parts, which are never changed: one patch after the other shares them.
var (
	metaPath        = []string{"metadata"}
	specPath        = []string{"spec"}
	statusPath      = []string{"status"}
	labelsPath      = []string{"metadata", "labels"}
	annotationsPath = []string{"metadata", "annotations"}
)

// begin makes an empty patch.
func (p *Patch) begin() *Patch {
	p.PatchView = PatchView{patch: p}
	p.Meta, p.Spec, p.Status = p.part(metaPath), p.part(specPath), p.part(statusPath)
	p.Labels, p.Annotations = p.part(labelsPath), p.part(annotationsPath)
	return p
}

func (p *Patch) part(path []string) PatchView { return PatchView{p, path} }

// Edit adds a function that edits the object in place, for what a merge patch
// cannot say. It runs after the handler, and again on a fresh object if another
// client changed it meanwhile; so it must look at nothing but its argument:
//
//	c.Patch.Edit(func(body kopf.Map) error {
//		meta := kopf.Nested(body, "metadata")
//		list, _ := meta["finalizers"].([]any)
//		meta["finalizers"] = append(list, "example.com/mine")
//		return nil
//	})
func (p *Patch) Edit(fn func(body Map) error) { p.edits.Add(fn) }

// In is the part of the patch at a path of keys below this one. Nothing is
// patched before something is set there.
func (v PatchView) In(keys ...string) PatchView {
	path := make([]string, 0, len(v.path)+len(keys))
	return PatchView{v.patch, append(append(path, v.path...), keys...)}
}

// Set sets the value of a key. Nil deletes the key from the object.
func (v PatchView) Set(key string, value any) { *v.open().at(key) = value }

// Delete deletes a key from the object.
func (v PatchView) Delete(key string) { v.Set(key, nil) }

// Merge merges values into the patch: a map, or a struct with json tags. Others make the
// handler fail.
func (v PatchView) Merge(values any) {
	m := asMap(values)
	if len(m) > 0 {
		v.open().merge(m)
	}
	if m != nil || v.patch.err != nil {
		return
	}
	text, err := jsonlite.Encode(values)
	if err == nil && jsonlite.KindOf(text) != jsonlite.Null {
		err = errMerge
	}
	v.patch.err = err
}

// Map is what was set so far, for reading; nil if nothing was.
func (v PatchView) Map() Map {
	switch value := v.patch.root.find(v.path).(type) {
	case *patchNode:
		if len(value.members) > 0 {
			return value.toMap()
		}
	case Map:
		return value
	}
	return nil
}

// open is the object at the path; it is made if needed.
func (v PatchView) open() *patchNode {
	n := &v.patch.root
	for _, key := range v.path {
		n = n.inside(key)
	}
	return n
}

// Nested is the map at a path of keys. Maps are made where there are none, and
// take the place of other values.
func Nested(m Map, keys ...string) Map {
	for _, key := range keys {
		inner := asMap(m[key])
		if inner == nil {
			inner = Map{}
		}
		m[key] = inner
		m = inner
	}
	return m
}

// asMap is the value as a map: structs and views are converted, others give nil.
func asMap(value any) Map {
	switch value := value.(type) {
	case nil:
		return nil
	case Map:
		return value
	}
	text, err := jsonlite.Encode(value)
	if err != nil || jsonlite.KindOf(text) != jsonlite.Object {
		return nil
	}
	return JSON(text).Map()
}

// outcome adds the patch to what a handler left.
func (p *Patch) outcome(done *guest.Done) error {
	if p == nil {
		return nil
	}
	done.Transforms = p.edits
	var err error
	done.Patch, err = p.encode()
	return err
}

// encode returns the merge patch; nil if it is empty.
func (p *Patch) encode() (abi.Raw, error) {
	if p == nil || p.err == nil && len(p.root.members) == 0 {
		return nil, nil
	}
	text, err := p.root.encode(nil)
	if p.err != nil {
		err = p.err
	}
	if err != nil {
		return nil, PermanentFrom(err, "the patch")
	}
	return abi.Raw(text), nil
}
