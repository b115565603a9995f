package stores

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Patch collects the changes of an object as a merge patch (RFC 7386). It keeps the order of
// the changes, because requests list them in that order, as in Kopf. The zero value
// is an empty patch.
type Patch struct {
	root  Object
	order place // of the root
}

// place says when a field was first set, compared with its neighbours, and holds the places
// of its own fields, in their order. A tree, like the patch itself: the time for a change does
// not depend on how deep the others are nested.
type place struct {
	key    string
	fields []*place
	byKey  map[string]*place // the fields, if there are many
}

// fewFields is the number of fields that are searched one by one.
const fewFields = 16

// find returns the place of a field; nil if it has none.
func (pl *place) find(key string) *place {
	if pl == nil {
		return nil
	}
	if pl.byKey != nil {
		return pl.byKey[key]
	}
	for _, field := range pl.fields {
		if field.key == key {
			return field
		}
	}
	return nil
}

// of returns the place of a field, which is the last one if the field has no place yet.
func (pl *place) of(key string) *place {
	if known := pl.find(key); known != nil {
		return known
	}
	next := &place{key: key}
	pl.fields = append(pl.fields, next)
	switch {
	case pl.byKey != nil:
		pl.byKey[key] = next
	case len(pl.fields) > fewFields:
		pl.byKey = make(map[string]*place, 2*fewFields)
		for _, field := range pl.fields {
			pl.byKey[field.key] = field
		}
	}
	return next
}

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
	p.reserve(path...)
	return nil
}

// reserve gives fields their places without setting them.
func (p *Patch) reserve(path ...string) {
	order := &p.order
	for _, key := range path {
		order = order.of(key)
	}
}

// Merge adds another merge patch, with the effect of both in sequence. It keeps nulls, which
// remove fields. The patch takes over the changes: the caller must not use them any more.
//
// Caveat: replacing a field by an object takes two merge patches. In one patch, the object
// is merged into the existing value.
func (p *Patch) Merge(changes Object) {
	if len(p.root) == 0 {
		p.root = changes
		for _, key := range slices.Sorted(maps.Keys(changes)) {
			p.order.of(key)
		}
		return
	}
	p.mergeInto(p.root, changes, &p.order)
}

func (p *Patch) mergeInto(target, changes Object, order *place) {
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		own := order.of(key)
		part, isObject := changes[key].(Object)
		inner, wasObject := target[key].(Object)
		if isObject && wasObject {
			p.mergeInto(inner, part, own)
			continue
		}
		target[key] = changes[key]
	}
}

// forget removes the place of a field.
func (pl *place) forget(path Path) {
	for i, key := range path {
		next := pl.find(key)
		if next == nil {
			return
		}
		if i == len(path)-1 {
			at := slices.Index(pl.fields, next)
			pl.fields = slices.Delete(pl.fields, at, at+1)
			delete(pl.byKey, key)
		}
		pl = next
	}
}

// Lookup returns the value that a field is set to.
func (p *Patch) Lookup(path ...string) (value any, ok bool) { return dicts.Lookup(p.root, path...) }

// Remove drops a field from the patch.
func (p *Patch) Remove(path Path) error {
	if p.root == nil {
		return nil
	}
	p.order.forget(path)
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
	buffer := texts.Get().(*[]byte)
	defer texts.Put(buffer)
	text, err := appendPatch((*buffer)[:0], root, &p.order)
	*buffer = text
	return bytes.Clone(text), err
}

// appendPatch encodes a part of a patch whose place is known, or nil.
func appendPatch(out []byte, value any, order *place) ([]byte, error) {
	switch value := value.(type) {
	case Object:
		return appendFields(out, value, order)
	case string:
		return appendText(out, value)
	case nil:
		return append(out, "null"...), nil
	}
	text, err := json.Marshal(value)
	return append(out, text...), err
}

func appendFields(out []byte, object Object, order *place) (_ []byte, err error) {
	var few [fewFields]string // on the stack
	out = append(out, '{')
	for i, key := range inOrder(few[:0], object, order) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendText(out, key); err != nil {
			return out, err
		}
		if out, err = appendPatch(append(out, ':'), object[key], order.find(key)); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

// appendText encodes a string as encoding/json does.
func appendText(out []byte, text string) ([]byte, error) {
	begin := len(out)
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < ' ' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&':
			slow, err := json.Marshal(text)
			return append(out[:begin], slow...), err
		default:
			out = append(out, c)
		}
	}
	return append(out, '"'), nil
}

// inOrder appends the keys of an object: those with a place in their order, then the others,
// sorted.
func inOrder(keys []string, object Object, order *place) []string {
	if order != nil {
		for _, field := range order.fields {
			if _, ok := object[field.key]; ok {
				keys = append(keys, field.key)
			}
		}
	}
	known := len(keys)
	for key := range object {
		if order.find(key) == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys[known:])
	return keys
}
