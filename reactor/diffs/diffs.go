// Package diffs finds what has changed between two states of an object, down to
// the fields. Lists are compared as a whole.
//
// Kopf: kopf._cogs.structs.diffs.
package diffs

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Op is what happened to a field.
type Op string

// The operations of diff items.
const (
	Add    Op = "add"
	Change Op = "change"
	Remove Op = "remove"
)

// Scope says which fields count. A left diff ignores fields that only the new state has; a
// right diff ignores fields that only the old state has.
type Scope int

// These are the scopes of diffs. Full is the usual one.
const (
	Full Scope = iota
	Left
	Right
)

// Item is the change of one field. Old is nil for additions, New for removals. As in Kopf,
// a diff does not distinguish absent fields from null.
type Item struct {
	Op   Op
	Path dicts.Path // relative to the compared values; empty for the values themselves
	Old  any
	New  any
}

// JSON returns the item in the form that handlers see: [op, [key, ...], old, new].
func (i Item) JSON() []any {
	return []any{string(i.Op), dicts.List(i.Path), i.Old, i.New}
}

// MarshalJSON writes the result of JSON.
func (i Item) MarshalJSON() ([]byte, error) { return json.Marshal(i.JSON()) }

// Diff lists the changed fields, sorted by path, so that equal changes give equal diffs.
// Kopf's order is arbitrary. An empty diff means no changes.
//
// Each item has its whole path, so a diff of deeply nested objects may be much larger than
// the objects. Where a diff would become larger than 16 MiB, it lists an object as changed
// that holds changed fields.
type Diff []Item

// JSON returns the list of the items' JSON forms.
func (d Diff) JSON() []any {
	list := make([]any, len(d))
	for i, item := range d {
		list[i] = item.JSON()
	}
	return list
}

// Compute compares two JSON values. Null and a nil object count as absent. Numbers are
// equal by value, and true equals 1, as in Python.
func Compute(old, new any, scope Scope) Diff {
	c := comparison{scope: scope, room: maxSize}
	c.compare(withoutNilObject(old), withoutNilObject(new), nil, 0)
	return c.diff
}

// withoutNilObject converts a nil object, which is an essence that does not exist, into a
// plain nil.
func withoutNilObject(doc any) any {
	if obj, ok := doc.(dicts.Object); ok && obj == nil {
		return nil
	}
	return doc
}

// Reduce makes the diff of one field from the diff of the whole. Paths are relative to the
// field. If a structure around the field was added or removed, the field has the same
// operation.
func Reduce(diff Diff, path dicts.Path) Diff {
	if len(path) == 0 {
		return diff
	}
	c := comparison{scope: Full, room: maxSize}
	for _, item := range diff {
		switch {
		case startsWith(item.Path, path):
			item.Path = item.Path[len(path):]
			c.diff = append(c.diff, item)
		case startsWith(path, item.Path):
			tail := path[len(item.Path):]
			old, _ := dicts.Lookup(item.Old, tail...)
			new, _ := dicts.Lookup(item.New, tail...)
			c.compare(old, new, nil, 0)
		}
	}
	return c.diff
}

func startsWith(path, prefix dicts.Path) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// comparison collects the items of one diff.
type comparison struct {
	scope Scope
	diff  Diff
	room  int // for more items, in bytes
}

// maxSize bounds the memory of a diff, without the values, in bytes. Typical diffs take less
// than a kilobyte.
const maxSize = 16 << 20

// Approximate sizes of a change and of a key of its path, in bytes.
const (
	itemSize = 80
	keySize  = 16
)

// compare adds the differences of two values under the path, which takes the given size. It
// reports false, and adds nothing, if there is no room for them. There is always room for the
// empty path. It does not keep the path: the caller reuses its memory for the next field.
func (c *comparison) compare(old, new any, path dicts.Path, size int) bool {
	if dicts.SameText(old, new) {
		return true
	}
	old, new = dicts.Open(old), dicts.Open(new)
	oldObj, oldIsObj := old.(dicts.Object)
	newObj, newIsObj := new.(dicts.Object)
	switch {
	case oldIsObj && newIsObj:
		return c.compareObjects(oldObj, newObj, path, size)
	case dicts.Equal(old, new):
		return true
	case old == nil:
		return c.add(Add, path, size, old, new)
	case new == nil:
		return c.add(Remove, path, size, old, new)
	default:
		return c.add(Change, path, size, old, new)
	}
}

// compareObjects compares two objects field by field. If the items of the fields do not fit, it
// discards them and lists the objects as changed. Package patches does this for operations. Four
// lines are common to both, but not the items, their sizes, and the levels that always fit: so a
// shared type would be longer than both places.
func (c *comparison) compareObjects(old, new dicts.Object, path dicts.Path, size int) bool {
	before, room := len(c.diff), c.room
	for _, key := range unionKeys(old, new) {
		oldValue, inOld := old[key]
		newValue, inNew := new[key]
		if !inOld && c.scope == Left || !inNew && c.scope == Right {
			continue
		}
		if !c.compare(oldValue, newValue, append(path, key), size+keySize+len(key)) {
			clear(c.diff[before:])
			c.diff, c.room = c.diff[:before], room
			return c.add(Change, path, size, old, new)
		}
	}
	return true
}

func (c *comparison) add(op Op, path dicts.Path, size int, old, new any) bool {
	if c.room -= itemSize + size; c.room < 0 && len(path) > 0 {
		return false
	}
	c.diff = append(c.diff, Item{Op: op, Path: append(dicts.Path{}, path...), Old: old, New: new})
	return true
}

// unionKeys returns the sorted keys of both objects.
func unionKeys(a, b dicts.Object) []string {
	keys := slices.AppendSeq(make([]string, 0, len(a)+len(b)), maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
