package sections_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/host/sections"
)

const module = "\x00asm\x01\x00\x00\x00\x01\x01\x00"

func TestAppendFindRemove(t *testing.T) {
	long := strings.Repeat("long", 1000)
	wasm := sections.Append([]byte(module), "a", []byte("first"))
	wasm = sections.Append(wasm, "other", []byte("stays"))
	wasm = sections.Append(wasm, "b", []byte(long))
	for name, want := range map[string]string{"a": "first", "other": "stays", "b": long, "c": "", "": ""} {
		if got, err := sections.Find(wasm, name); err != nil || string(got) != want {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
	}
	got, err := sections.Remove(wasm, "b", "a")
	if want := sections.Append([]byte(module), "other", []byte("stays")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := sections.Find(append(wasm, sections.Append([]byte(module), "a", nil)[len(module):]...), "a"); err == nil {
		t.Error("a name that appears twice is found")
	}
}

// What is at the end is cut off without a copy, and what is appended to the rest
// does not touch it.
func TestRemoveAtTheEnd(t *testing.T) {
	wasm := sections.Append([]byte(module), "a", []byte("1"))
	whole := bytes.Clone(wasm)
	bare, err := sections.Remove(wasm, "a")
	if err != nil || string(bare) != module || &bare[0] != &wasm[0] {
		t.Errorf("%q, %v", bare, err)
	}
	if _ = append(bare, "something else"...); !bytes.Equal(wasm, whole) {
		t.Error("the module has changed")
	}
}

func FuzzSections(f *testing.F) {
	f.Add([]byte(module), "a")
	f.Add(sections.Append([]byte(module), "a", []byte("1")), "a")
	f.Add([]byte(module+"\x00\x80"), "")
	f.Fuzz(func(t *testing.T, wasm []byte, name string) {
		if !utf8.ValidString(name) {
			t.Skip("no module can have such a name")
		}
		_, err := sections.Find(wasm, name)
		bare, removing := sections.Remove(wasm, name)
		if removing != nil {
			if err == nil {
				t.Errorf("found, but not removed: %v", removing)
			}
			return
		}
		if got, err := sections.Find(bare, name); got != nil || err != nil {
			t.Errorf("it stays: %q, %v", got, err)
		}
		if got, err := sections.Find(sections.Append(bare, name, []byte("x")), name); string(got) != "x" || err != nil {
			t.Errorf("appended: %q, %v", got, err)
		}
	})
}
