package processing

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// TestMemosOfObjects checks that memos start as copies of the operator's memo, and
// disappear with their objects.
func TestMemosOfObjects(t *testing.T) {
	all := NewMemories()
	if _, err := all.Base.Set(nil, "k", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	one, two := all.recall("one", false).memo, all.recall("two", false).memo
	if _, err := one.Set(nil, "k", []byte("2"), 1); err != nil {
		t.Fatal(err)
	}
	for name, memo := range map[string]*memos.Memo{"1": two, "2": one} {
		if value, _, _ := memo.Get("k"); string(value) != name {
			t.Errorf("a memo has %s, want %s", value, name)
		}
	}
	all.forget("one")
	if value, _, _ := all.recall("one", false).memo.Get("k"); string(value) != "1" {
		t.Errorf("the memo has outlived its object: %s", value)
	}
	all.forget("one")
	all.forget("two")
	if len(all.items) != 0 {
		t.Errorf("%d memories are left", len(all.items))
	}
}

// TestKnownObjectsAreCharged: while they are remembered, once.
func TestKnownObjectsAreCharged(t *testing.T) {
	tenant := &accounts.Tenant{Budget: accounts.NewBudget(1)}
	all := NewMemories()
	all.Account = accounts.New(accounts.Limits{})
	all.Account.Charge = accounts.NewCharge(tenant)
	all.Notice("one", true)
	all.recall("one", false)
	all.Notice("two", true)
	if held := tenant.Memory(); held != 2*objectCost {
		t.Errorf("two objects take %d bytes", held)
	}
	for _, key := range []string{"one", "one", "unknown", "two"} {
		all.forget(key)
	}
	if held := tenant.Memory(); held != 0 {
		t.Errorf("%d bytes are left", held)
	}
}

// TestMemosOfReviews checks that the memo of an object that is being created is not kept.
// It is kept if a stream, or a review of an update or a deletion, knows the object.
func TestMemosOfReviews(t *testing.T) {
	m := NewMemories()
	if first, second := m.Reviewed("u", true), m.Reviewed("u", true); first == second {
		t.Error("the memo of a creation is kept")
	}
	updated := m.Reviewed("u", false)
	if m.Reviewed("u", false) != updated || m.Reviewed("u", true) != updated {
		t.Error("the memo of a reviewed object is not its own")
	}
	if m.recall("u", false).memo != updated || m.Reviewed("u", true) != updated {
		t.Error("the stream of the object does not take the memo over")
	}
	if first, second := m.Reviewed("", false), m.Reviewed("", false); first == second {
		t.Error("objects without a uid share a memo")
	}
}

// TestLongUIDsOfReviewsAreNotKept: any client of the webhook server chooses them, and the account does not count them.
func TestLongUIDsOfReviewsAreNotKept(t *testing.T) {
	m := NewMemories()
	before := boundedtest.InUse()
	for i := range 100 {
		m.Reviewed(strings.Repeat("u", 1<<20)+strconv.Itoa(i), false)
	}
	if kept := boundedtest.InUse() - before; kept > 10<<20 {
		t.Errorf("%d MiB are kept", kept>>20)
	}
	longest := strings.Repeat("u", maxReviewed)
	if first, second := m.Reviewed(longest, false), m.Reviewed(longest, false); first != second {
		t.Error("the memo of an object with the longest uid is not its own")
	}
}

// TestLimitOfAllMemos checks the limit for the memos of objects, of reviews, and of the
// operator together. Deleted objects make room.
func TestLimitOfAllMemos(t *testing.T) {
	all := NewMemories()
	all.Account = accounts.New(accounts.Limits{MemoMemory: 8 << 20})
	var kept []*memos.Memo
	var refused error
	for i := range 100 {
		m := all.recall(fmt.Sprint(i), false).memo
		if i%2 == 0 {
			m = all.Reviewed(fmt.Sprint("review", i), false)
		}
		kept = append(kept, m)
		if _, refused = m.Set(all.Account, "k", reactortest.Text(1<<20), -1); refused != nil {
			break
		}
	}
	if len(kept) != 8 || !errors.Is(refused, accounts.ErrLimit) || !strings.Contains(refused.Error(), "the limit MemoMemory of 8388608 bytes is reached") {
		t.Fatalf("%d memos, then %v", len(kept), refused)
	}
	if _, err := all.Base.Set(all.Account, "k", reactortest.Text(1<<20), -1); !errors.Is(err, accounts.ErrLimit) {
		t.Errorf("the operator's memo: %v", err)
	}
	kept = nil
	for i := range 100 {
		all.forget(fmt.Sprint(i))
	}
	var err error
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err = all.Base.Set(all.Account, "k", reactortest.Text(1<<20), -1); err == nil || time.Now().After(deadline) {
			break
		}
		runtime.GC() // frees their memory, and so the account
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Errorf("memos of objects that are gone still count: %v", err)
	}
	runtime.KeepAlive(kept)
}

// TestCopiesOfMemosShareValues checks that large values of the operator's memo count once.
func TestCopiesOfMemosShareValues(t *testing.T) {
	all := NewMemories()
	all.Account = accounts.New(accounts.Limits{})
	if _, err := all.Base.Set(all.Account, "config", reactortest.Text(1<<20), -1); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		m := all.recall(fmt.Sprint(i), false).memo
		if _, err := m.Set(all.Account, "count", []byte("17"), -1); err != nil {
			t.Fatal(err)
		}
		if value, _, _ := m.Get("config"); len(value) != 1<<20 {
			t.Fatal("the copy has no value")
		}
	}
	if n := reactortest.Held(all.Account, accounts.Memos); n < 1<<20 || n > 4<<20 {
		t.Errorf("%d bytes are held", n)
	}
	// A replaced value counts while a copy holds it.
	if _, err := all.Base.Set(all.Account, "config", []byte("1"), -1); err != nil {
		t.Fatal(err)
	}
	if n := reactortest.Held(all.Account, accounts.Memos); n < 1<<20 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestMemosThatCannotBeCopied checks that such memos are empty, and that a warning is
// logged.
func TestMemosThatCannotBeCopied(t *testing.T) {
	all := NewMemories()
	all.Account = accounts.New(accounts.Limits{MemoMemory: 100_000})
	warned := 0
	all.Account.Refused = func(error) { warned++ }
	for i := range 500 {
		if _, err := all.Base.Set(all.Account, fmt.Sprint(i), []byte("1"), -1); err != nil {
			t.Fatal(err)
		}
	}
	var last *memos.Memo
	for i := range 1000 {
		last = all.recall(fmt.Sprint(i), false).memo
	}
	if _, _, ok := last.Get("1"); ok || warned != 1 {
		t.Errorf("it has values: %t; warnings: %d", ok, warned)
	}
	if n := reactortest.Held(all.Account, accounts.Memos); n > 100_000 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestManySmallMemos checks that 100,000 objects with one value each fit into the default
// limit.
func TestManySmallMemos(t *testing.T) {
	all := NewMemories()
	all.Account = accounts.New(accounts.Limits{})
	for i := range 100_000 {
		if _, err := all.recall(fmt.Sprint(i), false).memo.Set(all.Account, "state", reactortest.Text(500), 0); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
	runtime.KeepAlive(all)
}

// TestLeftoversAreOfOneVersion: the worker of another version of an object neither applies nor loses what is left over of this one.
func TestLeftoversAreOfOneVersion(t *testing.T) {
	guest, object := &reactortest.Scripted{Alive: 1}, &memory{}
	first, second := selectors.Key{Group: "kopf.dev", Version: "v1", Plural: "things"}, selectors.Key{Group: "kopf.dev", Version: "v2", Plural: "things"}
	object.leave(first, []patching.Transformation{{Task: &reactortest.ScriptedTask{Guest: guest}}})
	object.leave(second, nil)
	if here, there := len(object.remaining(first)), len(object.remaining(second)); here != 1 || there != 0 || guest.Alive != 1 {
		t.Errorf("%d are left of the first version, %d of the second one, and %d alive", here, there, guest.Alive)
	}
	object.drop(t.Context())
	if guest.Alive != 0 || !object.isFine() {
		t.Errorf("%d are alive when the object is gone; it has no trouble: %t", guest.Alive, object.isFine())
	}
}
