// Package interests decides which objects can concern an operator, before an object is
// decoded, and before a goroutine of the operator runs.
package interests

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/filters"
)

// Interest says which objects of one resource can concern an operator: those with all labels
// that one of its handlers requires, and those with its finalizer, which it removes when no
// handler needs it any more. A nil Interest includes all objects. It is read-only.
//
// # Assumptions
//
//   - Users of an interest also include the objects that it has included before, until they
//     are deleted: handlers that no longer match leave entries of indices, daemons and
//     finalizers behind.
type Interest struct {
	Labels    [][]filters.Label // of each handler, without duplicates; none is empty
	Finalizer string

	// Resuming means that there are handlers for objects that are older than the operator. So
	// it matters when an object was created that matches only later.
	Resuming bool
}

// Equal reports whether both include the same objects.
func (i *Interest) Equal(o *Interest) bool { return reflect.DeepEqual(i, o) }

// Concerns reports whether the interest includes an object with these marks.
func (i *Interest) Concerns(m Marks) bool {
	return i == nil || m.Unreadable || slices.Contains(m.Finalizers, i.Finalizer) || slices.ContainsFunc(i.Labels, m.Have)
}

// Marks are what interests look at. They share memory with the object. Finalizers are sorted,
// without duplicates.
type Marks struct {
	Labels     map[string]string
	Finalizers []string
	Unreadable bool // all interests include the object
}

// What a label and a finalizer take in addition to the text of the object, in bytes.
const (
	labelSize     = 64
	finalizerSize = 32
)

// Size is what the marks take in addition to the object, in bytes.
func (m Marks) Size() int { return labelSize*len(m.Labels) + finalizerSize*len(m.Finalizers) }

// Have reports whether an object has all of the labels.
func (m Marks) Have(labels []filters.Label) bool {
	for _, label := range labels {
		if value, ok := m.Labels[label.Key]; !ok || !label.Any && value != label.Value {
			return false
		}
	}
	return true
}

// MarksOf reads the marks of an object. It decodes nothing else.
func MarksOf(object []byte) Marks {
	var m Marks
	ok := dicts.Scan(object, func(parent, key string, value []byte) {
		if parent != "metadata" {
			return
		}
		switch key {
		case "labels":
			m.Labels = labelsOf(value)
		case "finalizers":
			m.Unreadable = m.Unreadable || json.Unmarshal(value, &m.Finalizers) != nil
		}
	})
	if ok {
		slices.Sort(m.Finalizers)
		m.Finalizers = slices.Compact(m.Finalizers)
		return m
	}
	var head struct {
		Metadata struct {
			Labels     map[string]string `json:"labels"`
			Finalizers []string          `json:"finalizers"`
		} `json:"metadata"`
	}
	unreadable := json.Unmarshal(object, &head) != nil
	slices.Sort(head.Metadata.Finalizers)
	return Marks{Labels: head.Metadata.Labels, Finalizers: slices.Compact(head.Metadata.Finalizers), Unreadable: unreadable}
}

// labelsOf decodes labels; nil if there are none.
func labelsOf(value []byte) map[string]string {
	labels := map[string]string{}
	dicts.Scan(value, func(parent, key string, value []byte) {
		if parent == "" {
			labels[key] = dicts.Text(value)
		}
	})
	return labels
}
