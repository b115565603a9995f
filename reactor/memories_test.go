package reactor

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

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

// TestMemosOfObjects start as copies of the operator's, and go with their objects.
func TestMemosOfObjects(t *testing.T) {
	all := newMemories()
	if _, err := all.base.set(nil, "k", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	one, two := all.recall("one", false).memo, all.recall("two", false).memo
	if _, err := one.set(nil, "k", []byte("2"), 1); err != nil {
		t.Fatal(err)
	}
	for name, memo := range map[string]*memo{"1": two, "2": one} {
		if value, _, _ := memo.get("k"); string(value) != name {
			t.Errorf("a memo has %s, want %s", value, name)
		}
	}
	all.forget("one")
	if value, _, _ := all.recall("one", false).memo.get("k"); string(value) != "1" {
		t.Errorf("the memo has outlived its object: %s", value)
	}
	all.forget("one")
	all.forget("two")
	if len(all.items) != 0 {
		t.Errorf("%d memories are left", len(all.items))
	}
}

// TestMemosOfReviews: an object that is being created has a memo that is thrown away, unless
// it is known: by its stream, or by a review of an update or a deletion.
func TestMemosOfReviews(t *testing.T) {
	m := newMemories()
	if first, second := m.reviewed("u", true), m.reviewed("u", true); first == second {
		t.Error("the memo of a creation is kept")
	}
	updated := m.reviewed("u", false)
	if m.reviewed("u", false) != updated || m.reviewed("u", true) != updated {
		t.Error("the memo of a reviewed object is not its own")
	}
	if m.recall("u", false).memo != updated || m.reviewed("u", true) != updated {
		t.Error("the stream of the object does not take the memo over")
	}
	if first, second := m.reviewed("", false), m.reviewed("", false); first == second {
		t.Error("objects without a uid share a memo")
	}
}
