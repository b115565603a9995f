package kopf

import (
	"iter"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
)

// Map is a decoded JSON object. Nested objects are of the same type, lists are
// []any, integers are int64, and other numbers float64.
type Map = map[string]any

// Raw is an undecoded JSON value.
type Raw = abi.Raw

// View is a JSON value, such as an object or a part of it. A field is decoded when
// it is read. A missing field is an empty view, so paths need no checks on their way:
//
//	size := c.Spec.Get("volumes", 0, "size").Int()
//
// The methods String, Int, Float and Bool give the zero value where there is no
// value of that type; use Decode where a wrong type has to be an error. The zero
// View is of nothing. Views of one object are not for several goroutines at once.
type View struct{ n *node }

// node is a place in a JSON text. It is found when it is first needed.
type node struct {
	raw    []byte // nil: nothing, or not found yet
	parent *node  // for the path
	key    string // in the parent
	index  int    // in the parent, if it is a list; or the tag of a segment

	task  *guest.Task // of a segment
	state nodeState   // what is known of it
	item  bool        // whether the parent is a list
}

// nodeState is what is known of a node.
type nodeState byte

const (
	nodeWhole   nodeState = iota // raw is the value
	nodeBegun                    // raw begins with the value: where it ends was not needed yet
	nodePart                     // a member of its parent that was not looked for yet
	nodeSegment                  // a segment of the task that was not asked for yet; without one, raw stays
)

// JSON is a view of a JSON text, which must not be changed afterwards.
func JSON(text []byte) View { return View{&node{raw: text}} }

// ViewOf is a view of a value: it is encoded to JSON. What cannot be encoded is nothing.
func ViewOf(value any) View {
	text, err := jsonlite.Encode(value)
	if err != nil {
		return View{}
	}
	return JSON(text)
}

// raw is the text of the value; nil if there is none.
func (v View) raw() []byte {
	begun := v.begun()
	if v.n != nil && v.n.state == nodeBegun {
		v.n.raw, v.n.state = jsonlite.First(begun), nodeWhole
		return v.n.raw
	}
	return begun
}

// begun is what begins with the value; nil if there is none.
func (v View) begun() []byte {
	n := v.n
	if n == nil {
		return nil
	}
	switch n.state {
	case nodePart:
		n.raw, n.state = jsonlite.Find(View{n.parent}.begun(), n.key), nodeBegun
	case nodeSegment:
		n.state = nodeWhole
		if data, err := n.task.Host.Segment(n.task.ID, n.index); err == nil {
			n.raw = data
		}
	case nodeWhole, nodeBegun:
	}
	return n.raw
}

// Get is the value at a path of keys (strings) and positions in lists (ints).
// A path of nothing is the view itself.
func (v View) Get(path ...any) View {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.member(step)
		case int:
			v = View{&node{raw: jsonlite.Item(v.begun(), step), parent: v.n, index: step, item: true}}
		default:
			return View{}
		}
	}
	return v
}

func (v View) member(key string) View {
	return View{&node{raw: jsonlite.Find(v.begun(), key), state: nodeBegun, parent: v.n, key: key}}
}

// Exists tells whether there is a value, be it null.
func (v View) Exists() bool { return len(v.begun()) > 0 }

// IsNull tells whether the value is null or absent.
func (v View) IsNull() bool { return jsonlite.KindOf(v.begun()) <= jsonlite.Null }

// IsString tells whether the value is a string.
func (v View) IsString() bool { return jsonlite.KindOf(v.begun()) == jsonlite.String }

// IsNumber tells whether the value is a number.
func (v View) IsNumber() bool { return jsonlite.KindOf(v.begun()) == jsonlite.Number }

// IsMap tells whether the value is an object.
func (v View) IsMap() bool { return jsonlite.KindOf(v.begun()) == jsonlite.Object }

// IsList tells whether the value is a list.
func (v View) IsList() bool { return jsonlite.KindOf(v.begun()) == jsonlite.Array }

// String is the string; "" if the value is null or absent, and the JSON text of
// other values, so that views can be printed.
func (v View) String() string {
	raw := v.raw()
	switch jsonlite.KindOf(raw) {
	case jsonlite.Missing, jsonlite.Null:
		return ""
	case jsonlite.String:
		return jsonlite.Unquote(raw)
	}
	return string(raw)
}

// Int is the integer; 0 if the value is not one that fits into an int.
func (v View) Int() int {
	n, ok := jsonlite.ParseInt(v.raw())
	if !ok || int64(int(n)) != n {
		return 0
	}
	return int(n)
}

// Float is the number; 0 if the value is not a number.
func (v View) Float() float64 {
	f, _ := jsonlite.ParseFloat(v.raw(), 64)
	return f
}

// Bool tells whether the value is true.
func (v View) Bool() bool { return string(v.raw()) == "true" }

// Raw is the JSON text; nil if the value is absent. It must not be changed.
func (v View) Raw() Raw { return v.raw() }

// Any decodes the whole value: see Map for the types. Nil if it is null, absent or malformed.
func (v View) Any() any {
	decoded, err := jsonlite.Any(v.raw())
	if err != nil {
		return nil
	}
	return decoded
}

// Map decodes an object. Other values, absent ones included, give an empty map.
// The map is a copy: it may be changed.
func (v View) Map() Map {
	if m, ok := v.Any().(Map); ok {
		return m
	}
	return Map{}
}

// List decodes a list; nil if the value is not a list. The list is a copy.
func (v View) List() []any {
	list, _ := v.Any().([]any)
	return list
}

// Has tells whether an object has the key.
func (v View) Has(key string) bool { return jsonlite.Find(v.begun(), key) != nil }

// Len is the number of members of an object or a list; 0 for other values.
func (v View) Len() int {
	n := 0
	for s := jsonlite.Scan(v.raw()); s.Next(); {
		n++
	}
	return n
}

// Keys are the keys of an object, in its order.
func (v View) Keys() []string {
	var keys []string
	for key := range v.Members() {
		keys = append(keys, key)
	}
	return keys
}

// Members iterates over the keys and the values of an object, in its order.
func (v View) Members() iter.Seq2[string, View] {
	return func(yield func(string, View) bool) {
		if !v.IsMap() {
			return
		}
		for s := jsonlite.Scan(v.raw()); s.Next(); {
			key := s.Key()
			if !yield(key, View{&node{raw: s.Value(), parent: v.n, key: key}}) {
				return
			}
		}
	}
}

// Items iterates over the positions and the values of a list.
func (v View) Items() iter.Seq2[int, View] {
	return func(yield func(int, View) bool) {
		if !v.IsList() {
			return
		}
		i := 0
		for s := jsonlite.Scan(v.raw()); s.Next(); i++ {
			if !yield(i, View{&node{raw: s.Value(), parent: v.n, index: i, item: true}}) {
				return
			}
		}
	}
}

// MarshalJSON makes views values of results and patches; nothing becomes null.
func (v View) MarshalJSON() ([]byte, error) { return Raw(v.raw()).MarshalJSON() }

// path is where the value is, for error messages.
func (n *node) path() []byte {
	if n == nil {
		return nil
	}
	path := n.parent.path()
	switch {
	case n.item:
		return jsonlite.AppendIndex(path, n.index)
	case n.key != "":
		return jsonlite.AppendKey(path, n.key)
	}
	return path
}
