// Package storetest checks the guarantees of storages that the reactor relies on. All
// storages of this project pass, and custom storages should.
package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// ids are handler ids that need replacements or cuts in annotations.
var ids = []string{
	"fn", "parent/child", "fn/spec.field", "Cls.<locals>.fn",
	"a-parent-with-a-very-long-name/and-a-child-with-a-very-long-name/and-one-more",
}

// body returns a new object as it comes from the API.
func body() stores.Object {
	return stores.Object{
		"apiVersion": "kopf.dev/v1",
		"kind":       "KopfExample",
		"metadata":   stores.Object{"name": "obj1", "uid": "uid1", "labels": stores.Object{"l": "v"}},
		"spec":       stores.Object{"field": "value", "list": []any{"a", stores.Object{"b": nil}}},
	}
}

func record() stores.Record {
	return stores.Record{
		Started: pointer("2020-01-01T00:00:00.000000+00:00"),
		Delayed: pointer("2020-01-01T00:01:00.000000+00:00"),
		Purpose: pointer("create"),
		Retries: pointer(1),
		Success: pointer(false),
		Failure: pointer(false),
		Message: pointer("error of \"ü\""),
		Subrefs: []string{"fn/a", "fn/b"},
	}
}

func pointer[T any](value T) *T { return &value }

// RunProgress checks a progress storage. Each check creates a new one.
func RunProgress(t *testing.T, newStorage func() stores.ProgressStorage) {
	t.Helper()
	checks := []struct {
		name  string
		check func(*testing.T, stores.ProgressStorage)
	}{
		{"unknown handlers have no record", checkNoRecord},
		{"records come back as they were stored", checkStored},
		{"records are replaced as a whole", checkReplaced},
		{"purged records are gone", checkPurged},
		{"records that were never sent are taken back", checkTakenBack},
		{"touching changes the object for a while", checkTouched},
		{"progress is no change of the object", checkCleared},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.check(t, newStorage()) })
	}
}

func checkNoRecord(t *testing.T, s stores.ProgressStorage) {
	for _, id := range ids {
		wantRecord(t, s, body(), id, nil)
	}
}

func checkStored(t *testing.T, s stores.ProgressStorage) {
	wants := map[string]*stores.Record{}
	patch := &stores.Patch{}
	for i, id := range ids {
		r := record()
		r.Retries = pointer(i)
		wants[id] = &r
		noError(t, s.Store(id, r, body(), patch))
	}
	noError(t, s.Flush())
	handled := merged(t, body(), patch)
	for _, id := range ids {
		wantRecord(t, s, handled, id, wants[id])
	}
}

func checkReplaced(t *testing.T, s stores.ProgressStorage) {
	first := &stores.Patch{}
	noError(t, s.Store("fn", record(), body(), first))
	noError(t, s.Flush())
	handled := merged(t, body(), first)

	r := stores.Record{Started: record().Started, Retries: pointer(2), Success: pointer(true), Failure: pointer(false)}
	second := &stores.Patch{}
	noError(t, s.Store("fn", r, handled, second))
	noError(t, s.Flush())
	wantRecord(t, s, merged(t, handled, second), "fn", &r)
}

func checkPurged(t *testing.T, s stores.ProgressStorage) {
	patch := &stores.Patch{}
	for _, id := range ids {
		noError(t, s.Store(id, record(), body(), patch))
	}
	noError(t, s.Flush())
	handled := merged(t, body(), patch)
	purge := &stores.Patch{}
	for _, id := range ids {
		noError(t, s.Purge(id, handled, purge))
	}
	noError(t, s.Flush())
	for _, id := range ids {
		wantRecord(t, s, merged(t, handled, purge), id, nil)
	}
}

func checkTakenBack(t *testing.T, s stores.ProgressStorage) {
	patch := &stores.Patch{}
	noError(t, patch.Set(stores.Path{"spec", "field"}, "patched"))
	for _, id := range ids {
		noError(t, s.Store(id, record(), body(), patch))
		noError(t, s.Purge(id, body(), patch))
	}
	noError(t, s.Flush())
	handled := merged(t, body(), patch)
	for _, id := range ids {
		wantRecord(t, s, handled, id, nil)
	}
	if dicts.LookupString(handled, "spec", "field") != "patched" {
		t.Errorf("the rest of the patch is lost: %s", dicts.Encode(patch.Object()))
	}
}

func checkTouched(t *testing.T, s stores.ProgressStorage) {
	patch := &stores.Patch{}
	noError(t, s.Touch(body(), patch, pointer("now")))
	touched := merged(t, body(), patch)
	if dicts.Equal(touched, body()) {
		t.Fatal("touching has changed nothing, so no event would come")
	}
	again := &stores.Patch{}
	noError(t, s.Touch(touched, again, pointer("now")))
	if !again.IsEmpty() {
		t.Errorf("touching with the same value is a change: %s", dicts.Encode(again.Object()))
	}
	untouch := &stores.Patch{}
	noError(t, s.Touch(touched, untouch, nil))
	if untouch.IsEmpty() {
		t.Error("the touch is not removed")
	}
	unneeded := &stores.Patch{}
	noError(t, s.Touch(body(), unneeded, nil))
	if !unneeded.IsEmpty() {
		t.Errorf("a touch that was never made is removed: %s", dicts.Encode(unneeded.Object()))
	}
}

func checkCleared(t *testing.T, s stores.ProgressStorage) {
	patch := &stores.Patch{}
	noError(t, s.Store("fn", record(), body(), patch))
	noError(t, s.Touch(body(), patch, pointer("now")))
	noError(t, s.Flush())
	want := clearedEssence(t, s, body())
	if got := clearedEssence(t, s, merged(t, body(), patch)); !dicts.Equal(want, got) {
		t.Errorf("handling looks like a change of the object (-before +after):\n%s", cmp.Diff(want, got))
	}
}

func clearedEssence(t *testing.T, s stores.ProgressStorage, obj stores.Object) stores.Object {
	t.Helper()
	essence, err := stores.BuildEssence(obj, nil, nil)
	noError(t, err)
	cleared, err := s.Clear(essence)
	noError(t, err)
	return cleared
}

// RunDiffBase checks a diff-base storage. Each check creates a new one.
func RunDiffBase(t *testing.T, newStorage func() stores.DiffBaseStorage) {
	t.Helper()
	t.Run("unhandled objects have no essence", func(t *testing.T) {
		wantEssence(t, newStorage(), body(), nil)
	})
	t.Run("the essence comes back as it was stored", func(t *testing.T) {
		s := newStorage()
		essence := build(t, s, body())
		handled := handledWith(t, s, body(), essence)
		wantEssence(t, s, handled, essence)
		wantEssence(t, s, handledWith(t, s, handled, stores.Object{}), stores.Object{})
	})
	t.Run("the stored essence is no change of the object", func(t *testing.T) {
		s := newStorage()
		essence := build(t, s, body())
		if again := build(t, s, handledWith(t, s, body(), essence)); !dicts.Equal(essence, again) {
			t.Errorf("(-before +after):\n%s", cmp.Diff(essence, again))
		}
	})
	t.Run("the metadata of the essence are a copy", func(t *testing.T) {
		obj := body()
		essence := build(t, newStorage(), obj)
		dicts.LookupObject(essence, "metadata", "labels")["l"] = "changed"
		delete(essence, "spec")
		if diff := cmp.Diff(body(), obj); diff != "" {
			t.Errorf("the body has changed with the essence (-want +got):\n%s", diff)
		}
	})
}

func build(t *testing.T, s stores.DiffBaseStorage, obj stores.Object) stores.Object {
	t.Helper()
	essence, err := s.Build(obj, nil)
	noError(t, err)
	return essence
}

// handledWith returns the object after the essence was stored on it.
func handledWith(t *testing.T, s stores.DiffBaseStorage, obj, essence stores.Object) stores.Object {
	t.Helper()
	patch := &stores.Patch{}
	noError(t, s.Store(obj, patch, essence))
	return merged(t, obj, patch)
}

func wantEssence(t *testing.T, s stores.DiffBaseStorage, obj, want stores.Object) {
	t.Helper()
	got, err := s.Fetch(obj)
	noError(t, err)
	if (got == nil) != (want == nil) || !dicts.Equal(got, want) {
		t.Errorf("fetched essence (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func wantRecord(t *testing.T, s stores.ProgressStorage, obj stores.Object, id string, want *stores.Record) {
	t.Helper()
	got, err := s.Fetch(obj, id)
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fetched record of %q (-want +got):\n%s", id, diff)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// merged applies a merge patch as the API server does (RFC 7386), with numbers in the form
// of the API.
func merged(t *testing.T, obj stores.Object, patch *stores.Patch) stores.Object {
	t.Helper()
	result, err := dicts.DecodeObject(dicts.Encode(dicts.MergePatch(obj, patch.Object())))
	noError(t, err)
	return result
}
