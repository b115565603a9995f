package reactor

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
)

// TestLimitOfOneMemo: keys count as values do, and what is replaced or deleted counts no more.
func TestLimitOfOneMemo(t *testing.T) {
	account := accounts.New(accounts.Limits{MemoLimit: 10_000})
	m := newMemo(nil, account)
	for i, step := range []struct {
		key     string
		value   []byte
		refused bool
	}{
		{"a", text(6000), false},
		{"b", text(6000), true},
		{strings.Repeat("k", 4000), []byte("1"), true},
		{"b", text(3000), false},
		{"a", text(6500), false},
		{"a", text(9000), true},
		{"a", nil, false},
		{"b", text(9000), false},
	} {
		_, err := m.set(account, step.key, step.value, -1)
		if errors.Is(err, accounts.ErrLimit) != step.refused || !step.refused && err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if step.refused && (!strings.Contains(err.Error(), "the limit MemoLimit is 10000") || !strings.Contains(err.Error(), "--limit MemoLimit=SIZE")) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if n := held(account, accounts.Memos); n < 9000 || n > 10_000 {
		t.Errorf("%d bytes are held", n)
	}
	if value, version, _ := m.get("b"); len(value) != 9000 || version != 2 {
		t.Errorf("%d bytes of version %d", len(value), version)
	}
	if account.Usage()[accounts.Memos].Refused != 3 {
		t.Errorf("%d refusals", account.Usage()[accounts.Memos].Refused)
	}
}

// TestLimitOfAllMemos: those of objects, of reviews, and that of the operator. Objects that
// go make room.
func TestLimitOfAllMemos(t *testing.T) {
	all := newMemories()
	all.account = accounts.New(accounts.Limits{MemoMemory: 8 << 20})
	var memos []*memo
	var refused error
	for i := range 100 {
		m := all.recall(fmt.Sprint(i), false).memo
		if i%2 == 0 {
			m = all.reviewed(fmt.Sprint("review", i), false)
		}
		memos = append(memos, m)
		if _, refused = m.set(all.account, "k", text(1<<20), -1); refused != nil {
			break
		}
	}
	if len(memos) != 8 || !errors.Is(refused, accounts.ErrLimit) || !strings.Contains(refused.Error(), "the limit MemoMemory of 8388608 bytes is reached") {
		t.Fatalf("%d memos, then %v", len(memos), refused)
	}
	if _, err := all.base.set(all.account, "k", text(1<<20), -1); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("the operator's memo: %v", err)
	}
	memos = nil
	for i := range 100 {
		all.forget(fmt.Sprint(i))
	}
	var err error
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err = all.base.set(all.account, "k", text(1<<20), -1); err == nil || time.Now().After(deadline) {
			break
		}
		runtime.GC() // their memory is free by then, and so the account
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Errorf("memos of objects that are gone still count: %v", err)
	}
	runtime.KeepAlive(memos)
}

// TestCopiesOfMemosShareValues: large values of the operator's memo count once.
func TestCopiesOfMemosShareValues(t *testing.T) {
	all := newMemories()
	all.account = accounts.New(accounts.Limits{})
	if _, err := all.base.set(all.account, "config", text(1<<20), -1); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		m := all.recall(fmt.Sprint(i), false).memo
		if _, err := m.set(all.account, "count", []byte("17"), -1); err != nil {
			t.Fatal(err)
		}
		if value, _, _ := m.get("config"); len(value) != 1<<20 {
			t.Fatal("the copy has no value")
		}
	}
	if n := held(all.account, accounts.Memos); n < 1<<20 || n > 4<<20 {
		t.Errorf("%d bytes are held", n)
	}
	// An outdated value counts as long as a copy has it.
	if _, err := all.base.set(all.account, "config", []byte("1"), -1); err != nil {
		t.Fatal(err)
	}
	if n := held(all.account, accounts.Memos); n < 1<<20 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestMemosThatCannotBeCopied are empty, and say so.
func TestMemosThatCannotBeCopied(t *testing.T) {
	all := newMemories()
	all.account = accounts.New(accounts.Limits{MemoMemory: 100_000})
	warned := 0
	all.account.Refused = func(error) { warned++ }
	for i := range 500 {
		if _, err := all.base.set(all.account, fmt.Sprint(i), []byte("1"), -1); err != nil {
			t.Fatal(err)
		}
	}
	var last *memo
	for i := range 1000 {
		last = all.recall(fmt.Sprint(i), false).memo
	}
	if _, _, ok := last.get("1"); ok || warned != 1 {
		t.Errorf("it has values: %t; warnings: %d", ok, warned)
	}
	if n := held(all.account, accounts.Memos); n > 100_000 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestManySmallMemos: 100,000 objects with a value each fit into the default.
func TestManySmallMemos(t *testing.T) {
	all := newMemories()
	all.account = accounts.New(accounts.Limits{})
	for i := range 100_000 {
		if _, err := all.recall(fmt.Sprint(i), false).memo.set(all.account, "state", text(500), 0); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
	runtime.KeepAlive(all)
}

// TestMemosOfProgramsAreTheirs: the program may store what it likes; handlers may not.
func TestMemosOfProgramsAreTheirs(t *testing.T) {
	account := accounts.New(accounts.Limits{MemoLimit: 1000})
	m := &Memo{}
	if err := m.Set("k", strings.Repeat("x", 1<<20)); err != nil || held(account, accounts.Memos) != 0 {
		t.Errorf("%v; %d bytes are held", err, held(account, accounts.Memos))
	}
	if _, err := m.values.set(account, "more", []byte("1"), -1); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("a handler's value: %v", err)
	}
}

func TestMemosHoldJSONOnly(t *testing.T) {
	m := newMemo(nil, nil)
	for _, bad := range []string{"{", "nan", `{"a":1}x`, "'x'", "\x00", `"\ud800`} {
		if _, err := m.set(nil, "k", []byte(bad), -1); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
	if _, _, ok := m.get("k"); ok {
		t.Error("there is a value")
	}
	if version, err := m.set(nil, "k", []byte(`{"a":[1,null]}`), 0); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
}

func TestMemosHaveVersions(t *testing.T) {
	m := newMemo(nil, nil)
	steps := []struct {
		value   string
		version int64
		want    uint64
		err     error
	}{
		{"1", 5, 0, abi.ErrConflict}, // there is none yet
		{"1", 0, 1, nil},
		{"2", 0, 0, abi.ErrConflict},
		{"2", 1, 2, nil},
		{"3", -1, 3, nil}, // whatever it is
		{"", 2, 0, abi.ErrConflict},
		{"", 3, 0, nil}, // deleted
		{"4", 0, 1, nil},
	}
	for i, step := range steps {
		if got, err := m.set(nil, "k", []byte(step.value), step.version); got != step.want || !errors.Is(err, step.err) {
			t.Errorf("step %d: version %d, %v; want %d, %v", i, got, err, step.want, step.err)
		}
	}
}

// TestMemosLoseNoUpdates of concurrent handlers that repeat what is in conflict.
func TestMemosLoseNoUpdates(t *testing.T) {
	m := newMemo(nil, nil)
	var handlers sync.WaitGroup
	for range 20 {
		handlers.Go(func() {
			for done := 0; done < 100; {
				value, version, _ := m.get("count")
				var count int
				_, _ = fmt.Sscan(string(value), &count) // 0 if there is none
				if _, err := m.set(nil, "count", fmt.Append(nil, count+1), int64(version)); err == nil {
					done++
				}
			}
		})
	}
	handlers.Wait()
	if value, _, _ := m.get("count"); string(value) != "2000" {
		t.Errorf("the count is %s, want 2000", value)
	}
}
