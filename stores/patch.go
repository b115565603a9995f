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

// Patch collects the changes of an object as a merge patch (RFC 7386). It keeps the order of
// the changes, because requests list them in that order, as in the reference. The zero value
// is an empty patch.
type Patch struct {
	root  Object
	order map[string]int // when a field was first set, by joined path
	count int
}

// separator joins paths to keys of the order. Field names never contain it.
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

// Merge adds another merge patch, with the effect of both in sequence. It keeps nulls, which
// remove fields. It copies the changes.
//
// Caveat: replacing a field by an object takes two merge patches. In one patch, the object
// is merged into the existing value.
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

// note records the order of a field and of its parents.
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

// Lookup returns the value that a field is set to.
func (p *Patch) Lookup(path ...string) (value any, ok bool) { return dicts.Lookup(p.root, path...) }

// Remove drops a field from the patch.
func (p *Patch) Remove(path Path) error {
	if p.root == nil {
		return nil
	}
	delete(p.order, strings.Join(path, separator))
	return dicts.Remove(p.root, path)
}

// Object returns the patch as a document. The caller must not change it.
func (p *Patch) Object() Object {
	if p.root == nil {
		return Object{}
	}
	return p.root
}

// IsEmpty reports whether the patch has no changes.
func (p *Patch) IsEmpty() bool { return len(p.root) == 0 }

// Encode encodes the patch or a part of it as the body of a request. Fields without a known
// order come last, sorted.
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
