// Package memos keeps values of handlers in memory, for one object or for the operator.
// Values are JSON, have versions, and count in the account of the operator.
//
// See https://docs.kopf.dev/en/latest/memos/
package memos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Shared is the memo of an operator, which its handlers share with the program that embeds
// it. The memo of each object starts as a copy of it. It is safe for concurrent use, and
// several operators may share it.
//
// Kopf: kopf.operator(memo=…) (v1.45); https://docs.kopf.dev/en/latest/memos/
type Shared struct{ Values Memo }

// Set stores a value and overwrites concurrent changes of the key. The memory limits of
// handlers do not apply. It returns an error if the value has no JSON form.
func (m *Shared) Set(key string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = m.Values.Set(nil, key, text, -1)
	}
	if err != nil {
		return fmt.Errorf("memo %q: %w", key, err)
	}
	return nil
}

// Get decodes a value into into, as encoding/json does. It returns false if the key has no
// value.
func (m *Shared) Get(key string, into any) (found bool, err error) {
	text, _, found := m.Values.Get(key)
	if !found {
		return false, nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return true, fmt.Errorf("memo %q: %w", key, err)
	}
	return true, nil
}

// Memo is a set of JSON values by key. Each value has a version, so that concurrent
// handlers do not overwrite each other's changes.
//
// See https://docs.kopf.dev/en/latest/memos/
type Memo struct {
	mu     sync.Mutex // guards the fields below, and everything in values
	values *memoValues

	cleanup runtime.Cleanup // releases the values
}

// memoValues is separate from its memo, so that a cleanup can give its memory back to the
// account when the memo becomes unreachable.
type memoValues struct {
	items     map[string]memoValue
	table     accounts.Table    // of the items
	size      int               // of all items; see memoText.size
	deleted   uint64            // the highest version of a deleted value; that of a new key is higher
	account   *accounts.Account // the account of a copy
	inherited int               // bytes in the account for the entries of a copy
}

type memoValue struct {
	*memoText
	version uint64
}

// memoText is a value that copies of a memo share.
type memoText struct {
	value   []byte
	size    int // bytes in the account, including the key and the entry
	account *accounts.Account
	holders atomic.Int64
}

// memoEntry is the approximate memory of an entry in addition to its key and value, in
// bytes.
const memoEntry = 64

// hold creates the values. The account gets their memory back with the memo.
func (m *Memo) hold() *memoValues {
	if m.values == nil {
		m.values = &memoValues{items: map[string]memoValue{}}
		m.cleanup = runtime.AddCleanup(m, (*memoValues).release, m.values)
	}
	return m.values
}

// Release empties a memo that is not used any more. Without it, the account gets the memory back when the garbage collector
// finds that nothing refers to the memo, which may take long.
func (m *Memo) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		return
	}
	m.cleanup.Stop()
	m.values.release()
	m.values = nil
}

func (v *memoValues) release() {
	for _, item := range v.items {
		item.release()
	}
	v.account.Give(accounts.Memos, v.inherited)
}

func (t *memoText) release() {
	if t != nil && t.holders.Add(-1) == 0 {
		t.account.Give(accounts.Memos, t.size)
	}
}

// New makes a memo with the values of another one. The memo is empty if the account
// refuses the copy; the account then logs a warning.
func New(base *Memo, account *accounts.Account) *Memo {
	m := &Memo{}
	if base == nil {
		return m
	}
	base.mu.Lock()
	defer base.mu.Unlock()
	if base.values == nil || len(base.values.items) == 0 {
		return m
	}
	entries := len(base.values.items) * memoEntry
	if account.Take(accounts.Memos, entries) != nil {
		return m
	}
	copied := m.hold()
	copied.account, copied.inherited, copied.size = account, entries, base.values.size
	for key, item := range base.values.items {
		item.holders.Add(1)
		copied.items[key] = item
	}
	return m
}

// Get returns a value with its version.
func (m *Memo) Get(key string) ([]byte, uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		return nil, 0, false
	}
	item, ok := m.values.items[key]
	if !ok {
		return nil, 0, false
	}
	return item.value, item.version, true
}

// Set stores a value that counts in an account. The version must be the current one: 0 if
// the key has no value, negative for any version. An empty value deletes the key.
//
// Errors: abi.ErrConflict; accounts.ErrLimit; a value that is not JSON.
func (m *Memo) Set(account *accounts.Account, key string, value []byte, version int64) (uint64, error) {
	if len(value) > 0 {
		if _, err := dicts.Decode(value); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.hold()
	current := held.items[key]
	if version >= 0 && current.version != uint64(version) {
		return 0, abi.ErrConflict
	}
	if len(value) == 0 {
		held.put(key, memoValue{})
		return 0, nil
	}
	text := &memoText{size: len(key) + len(value) + memoEntry, account: account}
	if size, limit := held.size+text.size-current.bytes(), account.Limits().MemoLimit; size > limit {
		return 0, account.Refuse(accounts.Memos, fmt.Errorf("%w: a memo would take %d bytes, but the limit MemoLimit is %d: store fewer or smaller values, or raise the limit with --limit MemoLimit=SIZE",
			accounts.ErrLimit, size, limit))
	}
	if err := account.Take(accounts.Memos, text.size); err != nil {
		return 0, err
	}
	text.value = append([]byte(nil), value...)
	text.holders.Store(1)
	next := memoValue{text, cmp.Or(current.version, held.deleted) + 1}
	held.put(key, next)
	return next.version, nil
}

// put replaces a value, or deletes it if the new text is nil.
func (v *memoValues) put(key string, next memoValue) {
	current := v.items[key]
	v.size += next.bytes() - current.bytes()
	current.release()
	if next.memoText == nil {
		v.deleted = max(v.deleted, current.version)
		delete(v.items, key)
	} else {
		v.items[key] = next
	}
	v.items = accounts.Fit(&v.table, v.items)
}

func (v memoValue) bytes() int {
	if v.memoText == nil {
		return 0
	}
	return v.size
}
