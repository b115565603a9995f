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

	"github.com/kopf-wasm/kopf/internal/accounts"
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
	mu     sync.RWMutex      // guards all below
	values map[string]values // by keys
	keys   map[string]Pairs  // of each object
	held   *accounts.Lease
}

// values are those of one key, by objects. Most keys have one value only, for which a
// table would be large.
type values struct {
	object string // empty: there is none
	value  []byte
	others map[string][]byte
}

// What tables take for each pair, and for each object, besides the texts, in bytes: about
// what is measured.
const (
	pairCost   = 256
	objectCost = 512
)

// cost is what an object takes in the index.
func (p Pairs) cost() int {
	if len(p) == 0 {
		return 0
	}
	bytes := objectCost
	for key, value := range p {
		bytes += len(key) + len(value) + pairCost
	}
	return bytes
}

// Replace stores what an object has in the index, in place of what it had.
//
// Errors: accounts.Error; then the object is in the index no more.
func (x *Index) Replace(object string, pairs Pairs) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.values == nil {
		x.values, x.keys = map[string]values{}, map[string]Pairs{}
	}
	before := x.keys[object]
	if err := x.held.Grow(pairs.cost() - before.cost()); err != nil {
		x.discard(object)
		return err
	}
	for key := range before {
		if _, ok := pairs[key]; !ok {
			x.remove(object, key)
		}
	}
	for key, value := range pairs {
		x.values[key] = x.values[key].with(object, value)
	}
	if len(pairs) == 0 {
		delete(x.keys, object)
	} else {
		x.keys[object] = pairs
	}
	return nil
}

// Discard removes an object from the index.
func (x *Index) Discard(object string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.discard(object)
}

func (x *Index) discard(object string) {
	_ = x.held.Grow(-x.keys[object].cost()) // giving back is never refused
	for key := range x.keys[object] {
		x.remove(object, key)
	}
	delete(x.keys, object)
}

func (x *Index) remove(object, key string) {
	if rest := x.values[key].without(object); rest.len() > 0 {
		x.values[key] = rest
	} else {
		delete(x.values, key)
	}
}

func (v values) with(object string, value []byte) values {
	switch {
	case v.object == object || v.len() == 0:
		v.object, v.value = object, value
	case v.others == nil:
		v.others = map[string][]byte{object: value}
	default:
		v.others[object] = value
	}
	return v
}

func (v values) without(object string) values {
	if v.object != object {
		delete(v.others, object)
		return v
	}
	v.object, v.value = "", nil
	for other, value := range v.others {
		delete(v.others, other)
		v.object, v.value = other, value
		break
	}
	return v
}

func (v values) len() int {
	if v.object == "" {
		return 0
	}
	return 1 + len(v.others)
}

// Look answers one lookup as JSON. The key is JSON too, in any form.
//
// Errors: ErrAbsent for values of an unknown key; accounts.ErrLimit for more than 64 MiB; an
// unknown operation or a broken key.
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
		found, ok := x.values[name]
		if !ok {
			return nil, ErrAbsent
		}
		return found.encode()
	case OpKeys:
		return encodeKeys(x.values)
	case OpCount:
		return strconv.AppendInt(nil, int64(len(x.values)), 10), nil
	case OpHas:
		_, ok := x.values[name]
		return strconv.AppendBool(nil, ok), nil
	}
	return nil, fmt.Errorf("unknown operation %d", op)
}

// encode lists the values in the order of the objects, so that equal lookups have
// equal answers.
func (v values) encode() ([]byte, error) {
	objects := make([]string, 0, v.len())
	for object := range v.others {
		objects = append(objects, object)
	}
	objects = append(objects, v.object)
	slices.Sort(objects)
	list := make([][]byte, len(objects))
	for i, object := range objects {
		if list[i] = v.others[object]; object == v.object {
			list[i] = v.value
		}
	}
	return encodeList(list)
}

func encodeKeys(values map[string]values) ([]byte, error) {
	list := make([][]byte, 0, len(values))
	for key := range values {
		list = append(list, []byte(key))
	}
	return encodeList(list)
}

// maxAnswer bounds the answer of one lookup, in bytes: it is built for each of them.
const maxAnswer = 64 << 20

func encodeList(items [][]byte) ([]byte, error) {
	size := len("[]") + len(items)
	for _, item := range items {
		size += len(item)
	}
	if size > maxAnswer {
		return nil, fmt.Errorf("%w: the answer of a lookup would take %d bytes, but at most %d are possible: look for keys one by one, or index smaller values", accounts.ErrLimit, size, maxAnswer)
	}
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")), nil
}

// Indices are all indices of an operator, by the ids of their handlers. They exist
// from the start, empty.
type Indices struct {
	byID  map[string]*Index
	names []string
}

// New makes empty indices, at the expense of an account.
func New(ids []string, account *accounts.Account) *Indices {
	indices := &Indices{byID: map[string]*Index{}, names: ids}
	for _, id := range ids {
		index := &Index{}
		index.held = accounts.NewLease(account, accounts.Indices, index)
		indices.byID[id] = index
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
