package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// ResourceInfo is the resource of the handled object.
type ResourceInfo = abi.ResourceInfo

// Object is what handlers get of the object that they are called for.
//
// See https://docs.kopf.dev/en/latest/kwargs/
type Object struct {
	Call
	Owner // of other objects

	// Body is the whole object. The others are parts of it. An absent part looks
	// like an empty one: it has no keys, and its Map is empty.
	Body, Spec, Meta, Status View
	Labels, Annotations      View

	Name      string // "" if the object has none, as while it is created with generateName
	Namespace string // "" if the object has none
	UID       string // "" if the object has none

	Resource ResourceInfo

	nodes [6]node
	patch Patch // of handlers that have one
}

// init fills the object in its place: its views point to its own nodes.
func (o *Object) init(t *guest.Task) {
	o.Call = newCall(t)
	o.Name, o.Namespace, o.UID = t.Call.Name, t.Call.Namespace, t.Call.UID
	if t.Call.Resource != nil {
		o.Resource = *t.Call.Resource
	}
	body := &o.nodes[0]
	body.raw = t.Body
	o.Body = View{body}
	o.Owner = Owner{o.Body}
	o.Spec = o.part(1, body, "spec")
	o.Status = o.part(2, body, "status")
	o.Meta = o.part(3, body, "metadata")
	o.Labels = o.part(4, &o.nodes[3], "labels")
	o.Annotations = o.part(5, &o.nodes[3], "annotations")
}

// part is a view of a part that is looked for when it is needed.
func (o *Object) part(i int, parent *node, key string) View {
	n := &o.nodes[i]
	n.parent, n.key, n.raw, n.state = parent, key, nil, nodePart
	return View{n}
}

// refresh makes the views show the newest known body when a handler next reads
// them. It drops the present body.
func (o *Object) refresh() {
	body := &o.nodes[0]
	body.raw, o.task.Body = nil, nil
	body.segment(o.task, abi.TagFresh)
	for i, key := range [...]string{"spec", "status", "metadata"} {
		o.part(i+1, &o.nodes[0], key)
	}
	o.part(4, &o.nodes[3], "labels")
	o.part(5, &o.nodes[3], "annotations")
}

// Comparison is what changed: old, new, and the difference. For handlers of a
// field, all are about the value of the field.
type Comparison struct {
	Old View // the last handled state; nothing for new objects
	New View // the current state; nothing for deleted objects

	task  *guest.Task
	nodes [2]node
}

// compare fills the comparison in: what is compared is fetched when it is asked for.
func (c *Comparison) compare(t *guest.Task) {
	c.task = t
	c.nodes[0].key, c.nodes[1].key = "old", "new"
	c.nodes[0].segment(t, abi.TagOld)
	c.nodes[1].segment(t, abi.TagNew)
	c.Old, c.New = View{&c.nodes[0]}, View{&c.nodes[1]}
}

// segment lets the node be a segment of the current call.
func (n *node) segment(t *guest.Task, tag int) { n.task, n.index, n.state = t, tag, nodeSegment }

// segment is a view of a segment of the current call, which is fetched when it is asked for.
func segment(t *guest.Task, tag int, name string) View {
	n := &node{key: name}
	n.segment(t, tag)
	return View{n}
}

// Operations of differences.
const (
	DiffAdd    = "add"
	DiffChange = "change"
	DiffRemove = "remove"
)

// DiffItem is one difference between old and new.
type DiffItem struct {
	Op       string   // DiffAdd, DiffChange, DiffRemove
	Path     []string // of the field
	Old, New View
}

// Diff lists the differences between old and new.
//
// See https://docs.kopf.dev/en/latest/diffs/
func (c *Comparison) Diff() []DiffItem {
	var diff []DiffItem
	for _, item := range segment(c.task, abi.TagDiff, "diff").Items() {
		d := DiffItem{Op: item.Get(0).String(), Path: []string{}, Old: item.Get(2), New: item.Get(3)} // the path of the whole is a list in JSON, too
		for _, key := range item.Get(1).Items() {
			d.Path = append(d.Path, key.String())
		}
		diff = append(diff, d)
	}
	return diff
}
