package scenarios

import (
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/documents"
)

// stepNames are the kinds of steps. A step has one of them.
var stepNames = []string{"apply", "change", "delete", "advance", "event", "disconnect", "restart", "expect"}

func (f *File) readSteps(n documents.Node) ([]step, error) {
	items, err := n.List()
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, item := range items {
		one, err := f.readItem(item)
		if err != nil {
			return nil, err
		}
		steps = append(steps, one)
	}
	return steps, nil
}

// readItem reads one step: its action, and how its requests are sent.
func (f *File) readItem(n documents.Node) (step, error) {
	fields, err := n.Fields(slices.Concat(stepNames, mannerNames)...)
	if err != nil {
		return step{}, err
	}
	var names []string
	for _, name := range stepNames {
		if _, ok := fields[name]; ok {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return step{}, n.Errorf("a step with %d actions: write each as an item of its own", len(names))
	}
	m, err := readManner(names[0], fields)
	if err != nil {
		return step{}, err
	}
	do, err := f.readStep(names[0], fields[names[0]], m)
	return step{names[0], n, do}, err
}

func (f *File) readStep(name string, n documents.Node, m *manner) (action, error) {
	switch name {
	case "apply":
		return f.readApply(n, m)
	case "change":
		return f.readChange(n, m)
	case "delete":
		return f.readDelete(n, m)
	case "event":
		return f.readEvent(n)
	case "advance":
		d, err := n.Duration()
		return func(r *run) []Mismatch { r.advance(d); return nil }, err
	case "disconnect":
		return func(r *run) []Mismatch { r.server.Disconnect(); r.settle(); return nil }, nil
	case "restart":
		return func(r *run) []Mismatch { return r.problem(n, r.restart()) }, nil
	default:
		return f.readExpect(n)
	}
}

func (f *File) readApply(n documents.Node, m *manner) (action, error) {
	objects, err := f.objects(n)
	if err == nil {
		err = m.check(len(objects))
	}
	return func(r *run) []Mismatch {
		var misses []Mismatch
		for _, object := range objects {
			answer, err := r.server.ApplyAs(r.ctx, object, m.user)
			if misses = m.compare(r, n, answer, err); len(misses) > 0 {
				break
			}
		}
		r.settle() // also after a mismatch: the number of calls must not depend on the speed
		return misses
	}, err
}

// readChange reads an object of which only the changed fields are given.
func (*File) readChange(n documents.Node, m *manner) (action, error) {
	change, err := n.Object()
	if err != nil {
		return nil, err
	}
	ref := apiserver.Reference{
		Kind: dicts.LookupString(change, "kind"), Namespace: dicts.LookupString(change, "metadata", "namespace"), Name: dicts.LookupString(change, "metadata", "name"),
	}
	if ref.Kind == "" || ref.Name == "" {
		return nil, n.Errorf("a change needs kind, metadata.name and the changed fields")
	}
	return func(r *run) []Mismatch {
		existing := r.server.Get(ref)
		if existing == nil {
			return r.missing(n, ref)
		}
		whole := dicts.CloneObject(change)
		whole["apiVersion"], whole["kind"] = existing["apiVersion"], existing["kind"]
		answer, err := r.server.ApplyAs(r.ctx, whole, m.user)
		misses := m.compare(r, n, answer, err)
		r.settle()
		return misses
	}, nil
}

// reference reads KIND/NAME, KIND/NAMESPACE/NAME, or a mapping.
func reference(n documents.Node) (ref apiserver.Reference, err error) {
	if n.IsMapping() {
		object, err := n.Object()
		if err != nil {
			return ref, err
		}
		ref.Kind, ref.Name, ref.Namespace = dicts.LookupString(object, "kind"), dicts.LookupString(object, "name"), dicts.LookupString(object, "namespace")
		if metadata := dicts.LookupObject(object, "metadata"); metadata != nil {
			ref.Name, ref.Namespace = dicts.LookupString(metadata, "name"), dicts.LookupString(metadata, "namespace")
		}
	} else {
		text, err := n.Text()
		if err != nil {
			return ref, err
		}
		parts := strings.Split(text, "/")
		if len(parts) == 2 || len(parts) == 3 {
			ref.Kind, ref.Name = parts[0], parts[len(parts)-1]
		}
		if len(parts) == 3 {
			ref.Namespace = parts[1]
		}
	}
	if ref.Kind == "" || ref.Name == "" {
		return ref, n.Errorf("name an object as KIND/NAME or KIND/NAMESPACE/NAME")
	}
	return ref, nil
}

// references reads what reference reads, once or as a list.
func references(n documents.Node) ([]apiserver.Reference, error) {
	var refs []apiserver.Reference
	for _, item := range n.Items() {
		ref, err := reference(item)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (*File) readDelete(n documents.Node, m *manner) (action, error) {
	refs, err := references(n)
	if err != nil {
		return nil, err
	}
	return func(r *run) []Mismatch {
		var misses []Mismatch
		for _, ref := range refs {
			if r.server.Get(ref) == nil {
				return r.missing(n, ref)
			}
			answer, err := r.server.DeleteAs(r.ctx, ref, m.user)
			if misses = m.compare(r, n, answer, err); len(misses) > 0 {
				break
			}
		}
		r.settle() // also after a mismatch: the number of calls must not depend on the speed
		return misses
	}, m.check(len(refs))
}

// eventTypes are the types of watch events.
var eventTypes = []string{"ADDED", "MODIFIED", "DELETED"}

func (f *File) readEvent(n documents.Node) (action, error) {
	fields, err := n.Fields("type", "object")
	if err != nil {
		return nil, err
	}
	node, ok := fields["object"]
	if !ok {
		return nil, n.Errorf("an event without its object")
	}
	object, err := f.object(node)
	if err != nil {
		return nil, err
	}
	kind := "MODIFIED"
	if node, ok := fields["type"]; ok {
		if kind, err = node.Text(); err != nil {
			return nil, err
		}
		if !slices.Contains(eventTypes, kind) {
			return nil, node.Errorf("unknown type of an event %q%s", kind, spelling.Meant(kind, eventTypes))
		}
	}
	return func(r *run) []Mismatch {
		if err := r.server.Send(kind, object); err != nil {
			return r.problem(n, err)
		}
		r.settle()
		return nil
	}, nil
}
