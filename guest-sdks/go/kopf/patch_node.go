package kopf

import "github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"

// patchNode is an object in a patch: its members in the order of their keys. Most objects have one or two, for which a
// map takes a room of eight, and the time of its hashes.
type patchNode struct{ members []patchMember }

type patchMember struct {
	key   string
	value any // of *patchNode: what was set inside
}

// at is the value of a key, which is made if needed.
func (n *patchNode) at(key string) *any {
	i := n.position(key)
	if i == len(n.members) || n.members[i].key != key {
		n.members = append(n.members, patchMember{})
		copy(n.members[i+1:], n.members[i:])
		n.members[i] = patchMember{key: key}
	}
	return &n.members[i].value
}

// position is where a key is, or would be.
func (n *patchNode) position(key string) int {
	low, high := 0, len(n.members)
	for low < high {
		if middle := (low + high) / 2; n.members[middle].key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// inside is the object at a key, which takes the place of other values.
func (n *patchNode) inside(key string) *patchNode {
	value := n.at(key)
	inner, ok := (*value).(*patchNode)
	if !ok {
		inner = &patchNode{}
		for key, value := range asMap(*value) {
			*inner.at(key) = value
		}
		*value = inner
	}
	return inner
}

// merge merges values. Maps are copied, so that later changes do not reach into them.
func (n *patchNode) merge(values Map) {
	for key, value := range values {
		if inner, ok := value.(Map); ok && inner != nil {
			n.inside(key).merge(inner)
		} else {
			*n.at(key) = value
		}
	}
}

// find is what is at a path; nil if nothing is.
func (n *patchNode) find(path []string) any {
	var value any = n
	for _, key := range path {
		switch at := value.(type) {
		case *patchNode:
			value = nil
			if i := at.position(key); i < len(at.members) && at.members[i].key == key {
				value = at.members[i].value
			}
		case Map:
			value = at[key]
		default:
			return nil
		}
	}
	return value
}

// toMap is a copy.
func (n *patchNode) toMap() Map {
	out := Map{}
	for _, m := range n.members {
		if inner, ok := m.value.(*patchNode); ok {
			out[m.key] = inner.toMap()
		} else {
			out[m.key] = m.value
		}
	}
	return out
}

// encode writes the object.
func (n *patchNode) encode(buf []byte) (_ []byte, err error) {
	buf = append(buf, '{')
	for i := range n.members {
		m := &n.members[i]
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(jsonlite.AppendString(buf, m.key), ':')
		if inner, ok := m.value.(*patchNode); ok {
			buf, err = inner.encode(buf)
		} else {
			buf, err = jsonlite.Append(buf, m.value)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}
