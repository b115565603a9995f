package patches

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Diff makes the JSON patch that turns one document into another. As in Kopf, the patch is
// small: list items are inserted and removed one by one, and lists of objects are compared
// item by item. Equal documents have an empty patch; true and 1 differ, 1 and 1.0 do not.
//
// The patch has no moves: a move could lead from the body into the status, and these are
// written separately.
//
// The result shares values with the second document.
//
// See https://www.rfc-editor.org/rfc/rfc6902
func Diff(from, to any) []Operation {
	var d differ
	d.values("", from, to)
	return d.operations
}

// differ collects the operations of one patch in the order of their application.
type differ struct {
	operations []Operation
}

func (d *differ) add(path string, value any) {
	d.operations = append(d.operations, Operation{Add, path, value})
}

func (d *differ) remove(path string) {
	d.operations = append(d.operations, Operation{Op: Remove, Path: path})
}

func (d *differ) values(path string, from, to any) {
	if fromObj, toObj, ok := both[dicts.Object](from, to); ok {
		d.objects(path, fromObj, toObj)
		return
	}
	if fromList, toList, ok := both[[]any](from, to); ok {
		d.lists(path, fromList, toList)
		return
	}
	if !sameScalars(from, to) {
		d.operations = append(d.operations, Operation{Replace, path, to})
	}
}

func both[T any](a, b any) (x, y T, ok bool) {
	x, okX := a.(T)
	y, okY := b.(T)
	return x, y, okX && okY
}

// sameScalars compares as JSON does, not as Python does: a boolean is not a number.
func sameScalars(a, b any) bool {
	_, isBool := a.(bool)
	_, wasBool := b.(bool)
	return isBool == wasBool && dicts.Equal(a, b)
}

func (d *differ) objects(path string, from, to dicts.Object) {
	fromKeys, toKeys := slices.Sorted(maps.Keys(from)), slices.Sorted(maps.Keys(to))
	for _, key := range fromKeys {
		if _, kept := to[key]; !kept {
			d.remove(pointerTo(path, key))
		}
	}
	for _, key := range toKeys {
		if _, known := from[key]; !known {
			d.add(pointerTo(path, key), to[key])
		}
	}
	for _, key := range toKeys {
		if old, known := from[key]; known {
			d.values(pointerTo(path, key), old, to[key])
		}
	}
}

// lists compares lists item by item if only the contents of items differ. Otherwise it
// uses their longest common subsequence, so that an insertion in the middle does not
// change all later items.
func (d *differ) lists(path string, from, to []any) {
	a, b := encodeAll(from), encodeAll(to)
	if inPlace(from, to, a, b) {
		d.hunk(path, 0, from, to)
		return
	}
	start := commonStart(a, b)
	end := commonEnd(a[start:], b[start:])
	endA, endB := len(a)-end, len(b)-end
	c := newCommon(a[start:endA], b[start:endB])
	place := start // the index in the list after the operations so far
	for i, j := 0, 0; ; {
		nextI, nextJ := c.next(i, j)
		d.hunk(path, place, from[start+i:start+nextI], to[start+j:start+nextJ])
		if nextI == len(c.a) && nextJ == len(c.b) {
			return
		}
		place += nextJ - j + 1
		i, j = nextI+1, nextJ+1
	}
}

// hunk replaces consecutive items of a list, one by one, starting at the index place.
func (d *differ) hunk(path string, place int, from, to []any) {
	paired := min(len(from), len(to))
	for i := range paired {
		d.values(itemAt(path, place+i), from[i], to[i])
	}
	for range from[paired:] {
		d.remove(itemAt(path, place+paired)) // later items move up
	}
	for i, item := range to[paired:] {
		d.add(itemAt(path, place+paired+i), item)
	}
}

func itemAt(path string, index int) string { return path + "/" + strconv.Itoa(index) }
