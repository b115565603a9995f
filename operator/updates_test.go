package operator

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestEarlierNamesAreForgotten: a manifest names another module from now on, and the former one is deleted. Later changes are seen.
func TestEarlierNamesAreForgotten(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"manifest", "former", "present"} {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &files{}
	open := f.noting(func(_ context.Context, name string) (string, []byte, error) { return name, nil, nil })
	read := func(names ...string) {
		for _, name := range names {
			if _, _, err := open(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	read("manifest", "former")
	f.begin()
	read("manifest") // and then fails
	f.begin()
	read("manifest", "present")
	if err := os.Remove("former"); err != nil {
		t.Fatal(err)
	}
	if _, complete := f.marks(); complete {
		t.Error("a missing file is not noticed before the end")
	}
	f.end()
	marks, complete := f.marks()
	if names := slices.Sorted(maps.Keys(marks)); !complete || !slices.Equal(names, []string{"manifest", "present"}) {
		t.Errorf("complete: %v, names: %v", complete, names)
	}
}

// TestAnEditedManifestDoesNotWaitForAFormerModule that was deleted before the edit: it never comes back.
func TestAnEditedManifestDoesNotWaitForAFormerModule(t *testing.T) {
	t.Chdir(t.TempDir())
	f := &files{}
	open := f.noting(func(_ context.Context, name string) (string, []byte, error) { return name, nil, nil })
	for _, name := range []string{"manifest", "former"} {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := open(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove("former"); err != nil {
		t.Fatal(err)
	}
	if _, complete := f.marks(); complete {
		t.Error("a module that is built again would be refused while it is missing")
	}
	if err := os.WriteFile("manifest", []byte("names another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, complete := f.marks(); !complete {
		t.Error("the edited manifest is not read")
	}
}
