package manifests

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// TestWorstManifests: of JSON, those cost most that have as many small values as possible; of YAML, those with equal keys.
func TestWorstManifests(t *testing.T) {
	const module = `{"wasm":[{"path":"a.wasm"}],`
	repeated := func(head, part, tail string) string {
		return head + strings.TrimSuffix(strings.Repeat(part, 4<<20/len(part)), ",") + tail
	}
	var keys strings.Builder
	keys.WriteString("wasm: [{path: a.wasm}]\nconfig:\n")
	for i := range 200_000 {
		fmt.Fprintf(&keys, " %x: b\n", i)
	}
	for _, tt := range []struct {
		path, name, text string
		tooMuch          bool
	}{
		{"m.json", "many modules", repeated(`{"wasm":[`, `{},`, `]}`), true},
		{"m.json", "null modules", repeated(`{"wasm":[`, `null,`, `]}`), true},
		{"m.json", "equal keys", repeated(module+`"config":{`, `"":"",`, `}}`), true},
		{"m.json", "equal maps", repeated(`{`, `"config":{},`, `}`), true},
		{"m.json", "hosts", repeated(module+`"allowed_hosts":[`, `"",`, `]}`), true},
		{"m.json", "nesting", repeated(`{"config":`, `[`, ``), true},
		{"m.json", "an escaped value", repeated(module+`"config":{"a":"`, `\u0000`, `"}}`), false},
		{"m.json", "a large module", repeated(`{"wasm":[{"data":"`, `AAAA`, `"}]}`), false},
		{"m.yaml", "equal keys", repeated("", "a:\n", ""), true},
		{"m.yaml", "a few thousand equal keys", strings.Repeat("a:\n", 30_000), true},
		{"m.yaml", "different keys", keys.String(), true},
		{"m.yaml", "nesting", repeated("wasm: ", "[", ""), true},
		{"m.yaml", "nested keys", repeated("", "? ", ""), true},
		{"m.yaml", "aliases", "config: {a: &a [x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], c: [*b,*b,*b,*b,*b,*b,*b,*b,*b]}", false},
		{"m.yaml", "a large module", repeated("wasm: [{data: ", "AAAA", "}]"), false},
	} {
		boundedtest.Parse(t, tt.path+": "+tt.name, []byte(tt.text), func(text []byte) error {
			_, err := Parse(tt.path, text)
			if errors.Is(err, bounded.ErrTooMuch) != tt.tooMuch {
				t.Errorf("%s: %s: error %.200v", tt.path, tt.name, err)
			}
			return err
		})
	}
}
