package memos

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestLimitOfOneMemo checks that keys and values count, and replaced or deleted ones do
// not.
func TestLimitOfOneMemo(t *testing.T) {
	account := accounts.New(accounts.Limits{MemoLimit: 10_000})
	m := New(nil, account)
	for i, step := range []struct {
		key     string
		value   []byte
		refused bool
	}{
		{"a", reactortest.Text(6000), false},
		{"b", reactortest.Text(6000), true},
		{strings.Repeat("k", 4000), []byte("1"), true},
		{"b", reactortest.Text(3000), false},
		{"a", reactortest.Text(6500), false},
		{"a", reactortest.Text(9000), true},
		{"a", nil, false},
		{"b", reactortest.Text(9000), false},
	} {
		_, err := m.Set(account, step.key, step.value, -1)
		if errors.Is(err, accounts.ErrLimit) != step.refused || !step.refused && err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if step.refused && (!strings.Contains(err.Error(), "the limit MemoLimit is 10000") || !strings.Contains(err.Error(), "--limit MemoLimit=SIZE")) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if n := reactortest.Held(account, accounts.Memos); n < 9000 || n > 10_000 {
		t.Errorf("%d bytes are held", n)
	}
	if value, version, _ := m.Get("b"); len(value) != 9000 || version != 2 {
		t.Errorf("%d bytes of version %d", len(value), version)
	}
	if account.Usage()[accounts.Memos].Refused != 3 {
		t.Errorf("%d refusals", account.Usage()[accounts.Memos].Refused)
	}
}

// TestMemosOfProgramsAreTheirs checks that limits apply to handlers, but not to the
// embedding program.
func TestMemosOfProgramsAreTheirs(t *testing.T) {
	account := accounts.New(accounts.Limits{MemoLimit: 1000})
	m := &Shared{}
	if err := m.Set("k", strings.Repeat("x", 1<<20)); err != nil || reactortest.Held(account, accounts.Memos) != 0 {
		t.Errorf("%v; %d bytes are held", err, reactortest.Held(account, accounts.Memos))
	}
	if _, err := m.Values.Set(account, "more", []byte("1"), -1); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("a handler's value: %v", err)
	}
}

func TestMemosHoldJSONOnly(t *testing.T) {
	m := New(nil, nil)
	for _, bad := range []string{"{", "nan", `{"a":1}x`, "'x'", "\x00", `"\ud800`} {
		if _, err := m.Set(nil, "k", []byte(bad), -1); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
	if _, _, ok := m.Get("k"); ok {
		t.Error("there is a value")
	}
	if version, err := m.Set(nil, "k", []byte(`{"a":[1,null]}`), 0); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
}

func TestMemosHaveVersions(t *testing.T) {
	m := New(nil, nil)
	steps := []struct {
		value   string
		version int64
		want    uint64
		err     error
	}{
		{"1", 5, 0, abi.ErrConflict}, // the key has no value yet
		{"1", 0, 1, nil},
		{"2", 0, 0, abi.ErrConflict},
		{"2", 1, 2, nil},
		{"3", -1, 3, nil}, // any version
		{"", 2, 0, abi.ErrConflict},
		{"", 3, 0, nil},  // deleted
		{"4", 0, 4, nil}, // and not 1, which others may have read before
		{"5", 1, 0, abi.ErrConflict},
	}
	for i, step := range steps {
		if got, err := m.Set(nil, "k", []byte(step.value), step.version); got != step.want || !errors.Is(err, step.err) {
			t.Errorf("step %d: version %d, %v; want %d, %v", i, got, err, step.want, step.err)
		}
	}
}

// TestMemosLoseNoUpdates checks concurrent handlers that retry after conflicts.
func TestMemosLoseNoUpdates(t *testing.T) {
	m := New(nil, nil)
	var handlers sync.WaitGroup
	for range 20 {
		handlers.Go(func() {
			for done := 0; done < 100; {
				value, version, _ := m.Get("count")
				var count int
				_, _ = fmt.Sscan(string(value), &count) // 0 without a value
				if _, err := m.Set(nil, "count", fmt.Append(nil, count+1), int64(version)); err == nil {
					done++
				}
			}
		})
	}
	handlers.Wait()
	if value, _, _ := m.Get("count"); string(value) != "2000" {
		t.Errorf("the count is %s, want 2000", value)
	}
}

// TestEmptiedMemos: what was deleted takes no memory, because it does not count any more: handlers could fill and empty the memo
// of each object. There may be many keys, or few of many objects.
func TestEmptiedMemos(t *testing.T) {
	for _, tt := range []struct{ objects, keys, limit int }{{5, 50_000, 1 << 20}, {2000, 60, 2000 << 10}} {
		account := accounts.New(accounts.Limits{})
		emptied := make([]*Memo, tt.objects)
		before := heaptest.InUse()
		for i := range emptied {
			emptied[i] = New(nil, account)
			for _, value := range [][]byte{[]byte("1"), nil} {
				for key := range tt.keys {
					if _, err := emptied[i].Set(account, fmt.Sprint(key), value, -1); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if took := heaptest.InUse() - before; took > tt.limit {
			t.Errorf("%d memos without keys take %d bytes, after %d keys each", tt.objects, took, tt.keys)
		}
		runtime.KeepAlive(emptied)
	}
}

// TestReleasedMemos: an API server converts thousands of objects at once, and each conversion has a memo.
func TestReleasedMemos(t *testing.T) {
	account := accounts.New(accounts.Limits{})
	base := New(nil, account)
	for i := range 100 {
		if _, err := base.Set(account, fmt.Sprint(i), []byte("1"), -1); err != nil {
			t.Fatal(err)
		}
	}
	before := reactortest.Held(account, accounts.Memos)
	for range 3 {
		m := New(base, account)
		if _, err := m.Set(account, "own", []byte("1"), -1); err != nil || reactortest.Held(account, accounts.Memos) <= before {
			t.Errorf("%v, %d bytes are held, and %d before", err, reactortest.Held(account, accounts.Memos), before)
		}
		for range 2 {
			if m.Release(); reactortest.Held(account, accounts.Memos) != before {
				t.Errorf("%d bytes are held afterwards, and %d before", reactortest.Held(account, accounts.Memos), before)
			}
		}
	}
	runtime.GC()
	runtime.GC()
	time.Sleep(10 * time.Millisecond) // for the functions that the garbage collector calls
	if held := reactortest.Held(account, accounts.Memos); held != before {
		t.Errorf("%d bytes are held after the garbage collection, and %d before", held, before)
	}
	if _, _, found := base.Get("7"); !found {
		t.Error("a value of the operator is gone")
	}
}
