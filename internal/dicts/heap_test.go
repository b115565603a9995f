package dicts_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
)

// TestHeapIsNotUnderestimated: limits of memory count it, so that no document takes much more.
func TestHeapIsNotUnderestimated(t *testing.T) {
	const size = 1 << 20
	var members strings.Builder
	for i := range size / 12 {
		fmt.Fprintf(&members, `"%x":0,`, i)
	}
	documents := map[string]string{"members": "{" + members.String() + `"":0}`, "a text": `"` + strings.Repeat("x", size) + `"`, "escapes": `"` + strings.Repeat(`\"`, size/2) + `"`}
	for _, item := range []string{`{}`, `[]`, `{"":0}`, `{"":{}}`, `{"a":[0]}`, `{"a":0,"b":0}`, `[[0]]`, `0`, `1234567`, `""`, `"x"`, `"\u0001"`, `"\"[{,"`, `null`} {
		documents[item] = "[" + strings.Repeat(item+",", size/(len(item)+1)) + "0]"
	}
	for name, text := range documents {
		before := heaptest.InUse()
		value, err := dicts.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		taken, estimate := heaptest.InUse()-before, dicts.Heap([]byte(text))
		if taken > estimate+estimate/2+1<<18 {
			t.Errorf("%s: takes %d bytes, and the estimate is %d", name, taken, estimate)
		}
		runtime.KeepAlive(value)
	}
}

// TestHeapOfTexts: what looks like values in a string counts as text, and so does what is no JSON.
func TestHeapOfTexts(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "0": 1, `""`: 2 + 16, `"\"[{,"`: 7 + 16, `"\\",0`: 6 + 16 + 64, `{"a":[]}`: 8 + 352 + 16 + 40, `"[`: 2 + 16, `"\`: 2 + 16,
	} {
		if got := dicts.Heap([]byte(text)); got != want {
			t.Errorf("%s: %d bytes, want %d", text, got, want)
		}
	}
}
