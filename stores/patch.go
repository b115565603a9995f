package stores

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Patch collects the changes of an object as a merge patch (RFC 7386), and keeps
// the order in which they were made: requests list them in that order, as the
// reference's do. The zero value is an empty patch.
type Patch struct {
	root  Object
	order map[string]int // when a field was set first, by its joined path
	count int
}

// separator joins paths to keys of the order: no name of a field has it.
const separator = "\x00"

// Set sets a field; a null deletes it from the object.
//
// Errors: dicts.ErrNotObject if a parent is set to something else.
func (p *Patch) Set(path Path, value any) error {
	if p.root == nil {
		p.root = Object{}
	}
	if err := dicts.Ensure(p.root, path, value); err != nil {
		return err
	}
	p.note(path)
	return nil
}

// Merge adds another merge patch, as if both were applied one after the other.
// Nulls are kept, since they are what removes a field. What is taken over is
// copied.
//
// Caveats: to remove a field and then to set an object there takes two merge
// patches. In one, the object is merged into what the field has held before.
func (p *Patch) Merge(changes Object) {
	if p.root == nil {
		p.root = Object{}
	}
	p.mergeInto(p.root, changes, nil)
}

func (p *Patch) mergeInto(target, changes Object, parent Path) {
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		path := append(slices.Clone(parent), key)
		p.note(path)
		part, isObject := changes[key].(Object)
		inner, wasObject := target[key].(Object)
		if isObject && wasObject {
			p.mergeInto(inner, part, path)
			continue
		}
		target[key] = dicts.Clone(changes[key])
	}
}

// note remembers the order of a field and of its parents.
func (p *Patch) note(path Path) {
	if p.order == nil {
		p.order = map[string]int{}
	}
	for depth := range path {
		key := strings.Join(path[:depth+1], separator)
		if _, ok := p.order[key]; !ok {
			p.order[key] = p.count
			p.count++
		}
	}
}

// Lookup finds what a field is set to.
func (p *Patch) Lookup(path ...string) (value any, ok bool) { return dicts.Lookup(p.root, path...) }

// Remove forgets a field, as if it was never set.
func (p *Patch) Remove(path Path) error {
	if p.root == nil {
		return nil
	}
	delete(p.order, strings.Join(path, separator))
	return dicts.Remove(p.root, path)
}

// Object is the patch as a document; it must not be changed.
func (p *Patch) Object() Object {
	if p.root == nil {
		return Object{}
	}
	return p.root
}

// IsEmpty tells that there are no changes.
func (p *Patch) IsEmpty() bool { return len(p.root) == 0 }

// Encode writes a part of the patch, or all of it, as the body of a request.
// Fields whose order is not known come last, sorted.
func (p *Patch) Encode(root Object) ([]byte, error) {
	var out bytes.Buffer
	err := p.encode(&out, root, "")
	return out.Bytes(), err
}

func (p *Patch) encode(out *bytes.Buffer, value any, prefix string) error {
	object, ok := value.(Object)
	if !ok {
		text, err := json.Marshal(value)
		out.Write(text)
		return err
	}
	out.WriteByte('{')
	for i, key := range p.keys(object, prefix) {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return err
		}
		out.Write(name)
		out.WriteByte(':')
		if err := p.encode(out, object[key], prefix+key+separator); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func (p *Patch) keys(object Object, prefix string) []string {
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		first, known := p.order[prefix+a]
		second, alsoKnown := p.order[prefix+b]
		switch {
		case known && alsoKnown:
			return cmp.Compare(first, second)
		case known:
			return -1
		case alsoKnown:
			return 1
		}
		return cmp.Compare(a, b)
	})
}
