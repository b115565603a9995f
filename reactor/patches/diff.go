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
// Each operation has its whole path, so a patch for deeply nested documents may be much larger
// than these. Where it would become larger than 16 MiB, it replaces an object or a list as a
// whole, but never one of the fields of the first level that has a usual name.
//
// The result shares values with the second document.
//
// See https://www.rfc-editor.org/rfc/rfc6902
func Diff(from, to any) []Operation {
	return differ{room: maxSize, encoding: maxEncoded, cells: maxCells}.diff(from, to)
}

// maxSize bounds the memory of a patch, without the values, in bytes.
const maxSize = 16 << 20

// operationSize is the approximate memory of an operation in addition to its path, in bytes.
const operationSize = 64

// wholeLevels is the number of levels whose fields are never replaced by their parent: the
// API server takes the fields of the first level apart.
const wholeLevels = 2

// longestWhole is the longest name of such a field, in bytes. The API server has no longer one of its own. The operations on
// the members of a field repeat its name, which the author of an object chooses if its definition has no schema.
const longestWhole = 256

// maxEncoded bounds the text that is made to find equal items of lists, in bytes. Items of
// nested lists are encoded again in each list around them.
const maxEncoded = 16 << 20

// differ collects the operations of one patch in the order of their application. The methods
// that add operations report false if there is no room for them. Then the caller discards
// those of its own value, and replaces that value.
type differ struct {
	operations []Operation
	path       []string // escaped keys to the current value
	size       int      // of the path as text, in bytes
	room       int      // for more operations, in bytes
	encoding   int      // bytes that may still be encoded
	cells      int      // of the tables of all lists; see common
}

func (d differ) diff(from, to any) []Operation {
	d.values(from, to)
	return d.operations
}

func (d *differ) add(op Op, value any) bool {
	if d.room -= operationSize + d.size; d.room < 0 && d.hasOther() {
		return false
	}
	path := make([]byte, 0, d.size)
	for _, key := range d.path {
		path = append(append(path, '/'), key...)
	}
	d.operations = append(d.operations, Operation{op, string(path), value})
	return true
}

// hasOther reports whether the value around the current one may be replaced instead.
func (d *differ) hasOther() bool {
	return len(d.path) > wholeLevels || len(d.path) == wholeLevels && len(d.path[0]) > longestWhole
}

// under does something with a field or an item of the current value.
func (d *differ) under(key string, do func() bool) bool {
	key = pointerEscapes.Replace(key)
	d.path = append(d.path, key)
	d.size += 1 + len(key)
	fits := do()
	d.path = d.path[:len(d.path)-1]
	d.size -= 1 + len(key)
	return fits
}

func (d *differ) item(index int, do func() bool) bool { return d.under(strconv.Itoa(index), do) }

// values compares two values. If the operations inside of them do not fit, it discards them and
// replaces the value. Package diffs does this for its items, and says why no code is shared.
func (d *differ) values(from, to any) bool {
	if dicts.SameText(from, to) {
		return true
	}
	from, to = dicts.Open(from), dicts.Open(to)
	before, room := len(d.operations), d.room
	fits := true
	if fromObj, toObj, ok := both[dicts.Object](from, to); ok {
		fits = d.objects(fromObj, toObj)
	} else if fromList, toList, ok := both[[]any](from, to); ok {
		fits = d.lists(fromList, toList)
	} else if !sameScalars(from, to) {
		return d.add(Replace, to)
	}
	if fits {
		return true
	}
	clear(d.operations[before:])
	d.operations, d.room = d.operations[:before], room
	return d.add(Replace, to)
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

func (d *differ) objects(from, to dicts.Object) bool {
	fromKeys, toKeys := slices.Sorted(maps.Keys(from)), slices.Sorted(maps.Keys(to))
	for _, key := range fromKeys {
		if _, kept := to[key]; !kept && !d.under(key, func() bool { return d.add(Remove, nil) }) {
			return false
		}
	}
	for _, key := range toKeys {
		if _, known := from[key]; !known && !d.under(key, func() bool { return d.add(Add, to[key]) }) {
			return false
		}
	}
	for _, key := range toKeys {
		if old, known := from[key]; known && !d.under(key, func() bool { return d.values(old, to[key]) }) {
			return false
		}
	}
	return true
}

// lists compares lists item by item if only the contents of items differ. Otherwise it
// uses their longest common subsequence, so that an insertion in the middle does not
// change all later items.
func (d *differ) lists(from, to []any) bool {
	if inPlace(from, to) {
		return d.hunk(0, from, to)
	}
	a, b := d.encodeAll(from), d.encodeAll(to)
	if d.encoding < 0 {
		return d.hunk(0, from, to)
	}
	start := commonStart(a, b)
	end := commonEnd(a[start:], b[start:])
	endA, endB := len(a)-end, len(b)-end
	c := d.common(a[start:endA], b[start:endB])
	at := start // the index in the list after the operations so far
	for i, j := 0, 0; ; {
		nextI, nextJ := c.next(i, j)
		if !d.hunk(at, from[start+i:start+nextI], to[start+j:start+nextJ]) {
			return false
		}
		if nextI == len(c.a) && nextJ == len(c.b) {
			return true
		}
		at += nextJ - j + 1
		i, j = nextI+1, nextJ+1
	}
}

// encodeAll encodes the items of a list, so that they can be compared. It stops when too much
// has been encoded in all.
func (d *differ) encodeAll(list []any) []string {
	texts := make([]string, len(list))
	for i := 0; i < len(list) && d.encoding >= 0; i++ {
		texts[i] = string(dicts.Encode(list[i]))
		d.encoding -= len(texts[i])
	}
	return texts
}

// hunk replaces consecutive items of a list, one by one, starting at the given index.
func (d *differ) hunk(at int, from, to []any) bool {
	paired := min(len(from), len(to))
	for i := range paired {
		if !d.item(at+i, func() bool { return d.values(from[i], to[i]) }) {
			return false
		}
	}
	for range from[paired:] { // later items move up
		if !d.item(at+paired, func() bool { return d.add(Remove, nil) }) {
			return false
		}
	}
	for i, item := range to[paired:] {
		if !d.item(at+paired+i, func() bool { return d.add(Add, item) }) {
			return false
		}
	}
	return true
}
