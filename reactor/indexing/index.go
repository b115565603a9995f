// Package indexing keeps the indices of an operator: values by key. Index handlers compute
// them from the objects of the cluster, and all handlers can look them up.
//
// Kopf: kopf._core.engines.indexing (v1.45); https://docs.kopf.dev/en/latest/indexing/
package indexing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// These are the operations of lookups, with the numbers of the host function index.
const (
	OpValues = 0 // the values of a key
	OpKeys   = 1 // all keys
	OpCount  = 2 // the number of keys
	OpHas    = 3 // whether the key exists
)

// maxPairs limits the keys of one object in one index.
const maxPairs = 100_000

// ErrAbsent means that an index or a key does not exist.
var ErrAbsent = errors.New("absent from the index")

// unkeyed is the key of values without keys.
const unkeyed = "null"

// Pairs are the contribution of one object to an index: values by key, both encoded.
type Pairs map[string][]byte

// ParsePairs decodes the result of an index handler: a list of pairs if it is keyed,
// otherwise one value without a key.
func ParsePairs(result any, keyed bool) (Pairs, error) {
	if !keyed {
		return Pairs{unkeyed: dicts.Encode(result)}, nil
	}
	list, ok := result.([]any)
	if !ok {
		return nil, fmt.Errorf("a keyed result must be a list of pairs, not %.100s", dicts.Encode(result))
	}
	if len(list) > maxPairs {
		return nil, fmt.Errorf("%d keys of one object, but at most %d are possible", len(list), maxPairs)
	}
	pairs := Pairs{} // without room for all: keys can be repeated, and only different ones count
	for _, item := range list {
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("a keyed result must be a list of pairs, but it has %.100s", dicts.Encode(item))
		}
		pairs[string(dicts.Encode(pair[0]))] = dicts.Encode(pair[1])
	}
	return pairs, nil
}

// Index is one index. It is safe for concurrent use. The time of lookups by key, updates
// and removals does not depend on the size of the index.
type Index struct {
	mu     sync.RWMutex      // guards the fields below
	values map[string]values // by key
	keys   map[string]Pairs  // by object
	pairs  int               // of all objects
	tables struct{ values, keys accounts.Table }
	held   *accounts.Lease
}

// values are the values of one key by object. Most keys have one value, for which a map
// would be too large.
type values struct {
	object string // empty: no value
	value  []byte
	others map[string][]byte
	table  accounts.Table // of the others
}

// These constants are the approximate memory of a pair and of an object in the maps, in
// addition to the texts, in bytes. They are measured.
const (
	pairCost   = 256
	objectCost = 512
)

// cost returns the memory of an object in the index, in bytes.
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

// Replace replaces the contribution of an object.
//
// Errors: accounts.Error; the index then no longer contains the object.
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
	x.pairs += len(pairs) - len(before)
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
	x.fit()
	return nil
}

// fit gives the memory back that the maps do not need any more.
func (x *Index) fit() {
	x.values, x.keys = accounts.Fit(&x.tables.values, x.values), accounts.Fit(&x.tables.keys, x.keys)
}

// Discard removes an object from the index.
func (x *Index) Discard(object string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.discard(object)
}

func (x *Index) discard(object string) {
	_ = x.held.Grow(-x.keys[object].cost()) // an account never refuses a smaller size
	for key := range x.keys[object] {
		x.remove(object, key)
	}
	x.pairs -= len(x.keys[object])
	delete(x.keys, object)
	x.fit()
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
	v.others = accounts.Fit(&v.table, v.others)
	return v
}

func (v values) without(object string) values {
	if v.object != object {
		delete(v.others, object)
		v.others = accounts.Fit(&v.table, v.others)
		return v
	}
	v.object, v.value = "", nil
	for other, value := range v.others {
		delete(v.others, other)
		v.object, v.value = other, value
		break
	}
	v.others = accounts.Fit(&v.table, v.others)
	return v
}

func (v values) len() int {
	if v.object == "" {
		return 0
	}
	return 1 + len(v.others)
}

// Look answers one lookup as JSON. The key may be any JSON text of the value.
//
// Errors: ErrAbsent for values of an unknown key; accounts.ErrLimit above 64 MiB; an
// unknown operation; an invalid key.
func (x *Index) Look(op int, key []byte) ([]byte, error) {
	name := unkeyed
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

// encode lists the values sorted by object, so that equal lookups have equal answers.
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
	return encodeList(slices.Collect(maps.Keys(values)))
}

// maxAnswer limits the answer of one lookup, in bytes, because each lookup builds its own.
const maxAnswer = 64 << 20

// encodeList makes a list of encoded items, and no copies besides: as many calls as there are cores can make one at the same time.
func encodeList[T string | []byte](items []T) ([]byte, error) {
	size := len("[]") + len(items)
	for _, item := range items {
		size += len(item)
	}
	if size > maxAnswer {
		return nil, fmt.Errorf("%w: the answer of a lookup would take %d bytes, but at most %d are possible: look for keys one by one, or index smaller values", accounts.ErrLimit, size, maxAnswer)
	}
	list := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']'), nil
}

// Indices are all indices of an operator by the ids of their handlers. They exist from the
// start, and are empty then.
type Indices struct {
	byID  map[string]*Index
	names []string
}

// New makes empty indices whose memory counts in the account.
func New(ids []string, account *accounts.Account) *Indices {
	indices := &Indices{byID: map[string]*Index{}}
	for _, id := range ids {
		if indices.byID[id] != nil { // an index of several resources
			continue
		}
		indices.names = append(indices.names, id)
		index := &Index{}
		index.held = accounts.NewLease(account, accounts.Indices, index)
		indices.byID[id] = index
	}
	return indices
}

// Names returns the ids of the indices.
func (s *Indices) Names() []string { return s.names }

// Discard removes an object from all indices.
func (s *Indices) Discard(object string) {
	s.DiscardUnless(object, func(string) bool { return false })
}

// DiscardUnless removes an object from all indices except those for which the function returns
// true.
func (s *Indices) DiscardUnless(object string, keeps func(id string) bool) {
	for id, index := range s.byID {
		if !keeps(id) {
			index.Discard(object)
		}
	}
}

// Get returns an index; nil if it does not exist.
func (s *Indices) Get(id string) *Index { return s.byID[id] }

// Len returns the number of pairs of objects and keys in all indices.
func (s *Indices) Len() int {
	count := 0
	for _, index := range s.byID {
		index.mu.RLock()
		count += index.pairs
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
