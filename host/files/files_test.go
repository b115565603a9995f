package files_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/sections"
)

const module = "\x00asm\x01\x00\x00\x00"

func embedded(t *testing.T, content map[string][]byte) []byte {
	t.Helper()
	wasm, err := files.Embed([]byte(module), content)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestEmbedAndRead(t *testing.T) {
	want := map[string][]byte{"b/c.pyc": {0, 1, 2}, "a": {}, "b/größe": []byte("x")}
	set, err := files.Read(embedded(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(set.List()); got != "a\nb/c.pyc\nb/größe\n" {
		t.Errorf("list %q", got)
	}
	for path, content := range want {
		if got, found := set.File(path); !found || string(got) != string(content) {
			t.Errorf("%s: %q, %v", path, got, found)
		}
	}
	if _, found := set.File("b"); found {
		t.Error("a folder is a file")
	}
}

func TestModuleWithoutFiles(t *testing.T) {
	set, err := files.Read(embedded(t, nil))
	if set != nil || err != nil {
		t.Errorf("%v, %v", set, err)
	}
	if _, found := set.File("a"); found || set.List() != nil || set.Size() != 0 || set.Paths() != nil {
		t.Error("a nil set is not empty")
	}
	if got := embedded(t, nil); string(got) != module {
		t.Errorf("no files make a section: %q", got)
	}
}

// Equal files give equal bytes, and replace the former ones.
func TestEmbedIsDeterministic(t *testing.T) {
	content := map[string][]byte{}
	for _, name := range strings.Fields("q w e r t y u i o p") {
		content[name] = []byte(name)
	}
	first := embedded(t, content)
	again, err := files.Embed(embedded(t, map[string][]byte{"other": nil}), content)
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Modules with equal files share them, and do not keep the bytes of a module.
func TestEqualFilesAreShared(t *testing.T) {
	wasm := embedded(t, map[string][]byte{"shared": []byte("content")})
	one, err := files.Read(wasm)
	if err != nil {
		t.Fatal(err)
	}
	two, err := files.Read(append([]byte{}, wasm...))
	if err != nil || one != two {
		t.Errorf("%p and %p, %v", one, two, err)
	}
	clear(wasm)
	if got, _ := two.File("shared"); string(got) != "content" {
		t.Errorf("the content changes with the module: %q", got)
	}
	runtime.KeepAlive(one)
}

func TestReadRefuses(t *testing.T) {
	one, err := files.Pack(map[string][]byte{"a": []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	file := func(path string) string { return "\x01\x00\x00\x00" + path + "\x00\x00\x00\x00" }
	for name, content := range map[string]string{
		"cut":             string(one[:len(one)-1]),
		"a part of a row": string(one) + "\x01\x00",
		"a large length":  "\xff\xff\xff\xff",
		"not sorted":      file("b") + file("a"),
		"twice":           file("a") + file("a"),
		"no path":         "\x00\x00\x00\x00\x00\x00\x00\x00",
		"absolute":        file("/"),
		"the parent":      "\x02\x00\x00\x00..\x00\x00\x00\x00",
	} {
		if set, err := files.Read(sections.Append([]byte(module), files.Section, []byte(content))); !errors.Is(err, files.ErrMalformed) {
			t.Errorf("%s: %v, error %v", name, set, err)
		}
	}
	if _, err := files.Read([]byte("text")); !errors.Is(err, files.ErrMalformed) {
		t.Errorf("no module: %v", err)
	}
}

func TestEmbedRefusesPaths(t *testing.T) {
	for _, path := range []string{"", "/a", "a/", "a//b", "./a", "a/../b", "..", "a\\b", "a\nb", "a\x00", "\xff", strings.Repeat("a", files.MaxPath+1)} {
		if _, err := files.Embed([]byte(module), map[string][]byte{path: nil}); !errors.Is(err, files.ErrMalformed) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	one, _ := files.Pack(map[string][]byte{"a": []byte("1"), "b/c": nil})
	f.Add(one)
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := files.Unpack(content)
		if err != nil {
			return
		}
		if again, err := files.Pack(found); err != nil || string(again) != string(content) {
			t.Errorf("%q becomes %q, %v", content, again, err)
		}
	})
}
