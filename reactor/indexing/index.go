// Package indexing keeps the indices of an operator: values by keys, made of the
// objects of the cluster by the index handlers, looked up by all other handlers.
//
// Kopf: kopf._core.engines.indexing (v1.45); https://docs.kopf.dev/en/latest/indexing/
package indexing

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Operations of lookups, as the host function index numbers them.
const (
	OpValues = 0 // the values of a key
	OpKeys   = 1 // all keys
	OpCount  = 2 // the number of keys
	OpHas    = 3 // whether there is the key
)

// MaxPairs bounds the keys that one object may have in one index.
const MaxPairs = 100_000

// ErrAbsent is for an index or a key that does not exist.
var ErrAbsent = errors.New("absent from the index")

// Unkeyed is the key of values without keys.
const Unkeyed = "null"

// Pairs are what an object has in an index: values by keys, both encoded.
type Pairs map[string][]byte

// ParsePairs reads the result of an index handler: a list of pairs if it is keyed,
// otherwise one value without a key.
func ParsePairs(result any, keyed bool) (Pairs, error) {
	if !keyed {
		return Pairs{Unkeyed: dicts.Encode(result)}, nil
	}
	list, ok := result.([]any)
	if !ok {
		return nil, fmt.Errorf("a keyed result must be a list of pairs, not %.100s", dicts.Encode(result))
	}
	if len(list) > MaxPairs {
		return nil, fmt.Errorf("%d keys of one object, but at most %d are possible", len(list), MaxPairs)
	}
	pairs := make(Pairs, len(list))
	for _, item := range list {
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("a keyed result must be a list of pairs, but it has %.100s", dicts.Encode(item))
		}
		pairs[string(dicts.Encode(pair[0]))] = dicts.Encode(pair[1])
	}
	return pairs, nil
}

// Index is one index. It is safe for concurrent use. Lookups by a key, updates and
// removals take a time that does not depend on the size of the index.
type Index struct {
	mu     sync.RWMutex                 // guards all below
	values map[string]map[string][]byte // by keys, then by objects
	keys   map[string]Pairs             // of each object
}

// Replace stores what an object has in the index, in place of what it had.
func (x *Index) Replace(object string, pairs Pairs) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.values == nil {
		x.values, x.keys = map[string]map[string][]byte{}, map[string]Pairs{}
	}
	for key := range x.keys[object] {
		if _, ok := pairs[key]; !ok {
			x.remove(object, key)
		}
	}
	for key, value := range pairs {
		if x.values[key] == nil {
			x.values[key] = map[string][]byte{}
		}
		x.values[key][object] = value
	}
	if len(pairs) == 0 {
		delete(x.keys, object)
	} else {
		x.keys[object] = pairs
	}
}

// Discard removes an object from the index.
func (x *Index) Discard(object string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.keys[object] {
		x.remove(object, key)
	}
	delete(x.keys, object)
}

func (x *Index) remove(object, key string) {
	delete(x.values[key], object)
	if len(x.values[key]) == 0 {
		delete(x.values, key)
	}
}

// Look answers one lookup as JSON. The key is JSON too, in any form.
//
// Errors: ErrAbsent for values of an unknown key; an unknown operation or a broken key.
func (x *Index) Look(op int, key []byte) ([]byte, error) {
	name := Unkeyed
	if len(key) > 0 {
		decoded, err := dicts.Decode(key)
		if err != nil {
			return nil, fmt.Errorf("the key: %w", err)
		}
		name = string(dicts.Encode(decoded))
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	switch op {
	case OpValues:
		values, ok := x.values[name]
		if !ok {
			return nil, ErrAbsent
		}
		return encodeValues(values), nil
	case OpKeys:
		return encodeKeys(x.values), nil
	case OpCount:
		return strconv.AppendInt(nil, int64(len(x.values)), 10), nil
	case OpHas:
		_, ok := x.values[name]
		return strconv.AppendBool(nil, ok), nil
	}
	return nil, fmt.Errorf("unknown operation %d", op)
}

// encodeValues lists the values in the order of the objects, so that equal
// lookups have equal answers.
func encodeValues(values map[string][]byte) []byte {
	objects := make([]string, 0, len(values))
	for object := range values {
		objects = append(objects, object)
	}
	slices.Sort(objects)
	list := make([][]byte, len(objects))
	for i, object := range objects {
		list[i] = values[object]
	}
	return encodeList(list)
}

func encodeKeys(values map[string]map[string][]byte) []byte {
	list := make([][]byte, 0, len(values))
	for key := range values {
		list = append(list, []byte(key))
	}
	return encodeList(list)
}

func encodeList(items [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// Indices are all indices of an operator, by the ids of their handlers. They exist
// from the start, empty.
type Indices struct {
	byID  map[string]*Index
	names []string
}

// New makes empty indices.
func New(ids []string) *Indices {
	indices := &Indices{byID: map[string]*Index{}, names: ids}
	for _, id := range ids {
		indices.byID[id] = &Index{}
	}
	return indices
}

// Names lists the ids of the indices.
func (s *Indices) Names() []string { return s.names }

// Discard removes an object from all indices but the given ones.
func (s *Indices) Discard(object string, except func(id string) bool) {
	for id, index := range s.byID {
		if !except(id) {
			index.Discard(object)
		}
	}
}

// Get finds an index; nil if there is none.
func (s *Indices) Get(id string) *Index { return s.byID[id] }

// Len is the number of pairs of objects and keys in all indices.
func (s *Indices) Len() int {
	count := 0
	for _, index := range s.byID {
		index.mu.RLock()
		for _, pairs := range index.keys {
			count += len(pairs)
		}
		index.mu.RUnlock()
	}
	return count
}

// Look answers a lookup in one of the indices. See Index.Look.
func (s *Indices) Look(id string, op int, key []byte) ([]byte, error) {
	index := s.byID[id]
	if index == nil {
		return nil, ErrAbsent
	}
	return index.Look(op, key)
}
