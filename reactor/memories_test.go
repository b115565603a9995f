package reactor

import (
	"testing"
)

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
