package documents

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

func TestValuesAreThoseOfJSON(t *testing.T) {
	nodes, err := Parse("f.yaml", []byte("a: 1\nb: 1.5\nc: \"1\"\nd: [true, null, 2026-01-01]\ne: {f: 0x10}\n---\n---\n{\"g\": 1e3}\n"))
	if err != nil || len(nodes) != 2 {
		t.Fatalf("%d documents, error %v", len(nodes), err)
	}
	for i, want := range []string{`{"a":1,"b":1.5,"c":"1","d":[true,null,"2026-01-01"],"e":{"f":16}}`, `{"g":1000}`} {
		value, err := nodes[i].Value()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(dicts.Encode(value))); diff != "" {
			t.Errorf("document %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestMistakesHavePlaces(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no YAML", "a: b\n c: d\n", "f.yaml:2:2: invalid YAML: mapping values are not allowed in this context"},
		{"a tab", "a:\n\t- b\n", "f.yaml:2:1: invalid YAML: found character that cannot start any token"},
		{"a similar key", "stepz: []\n", `f.yaml:1:1: unknown key "stepz": did you mean steps?`},
		{"any other key", "nothing: []\n", `f.yaml:1:1: unknown key "nothing": it must be one of name, steps`},
		{"a key twice", "name: a\nname: b\n", `f.yaml:2:1: the key "name" is set twice`},
		{"a list", "- a\n", "f.yaml:1:1: a list where a mapping is expected, with any of name, steps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes, err := Parse("f.yaml", []byte(tt.text))
			if err == nil {
				_, err = nodes[0].Fields("name", "steps")
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

// TestAliasesAreBounded: what they stand for counts, in all documents of a file together.
func TestAliasesAreBounded(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	long := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100) + "]\n"
	for _, tt := range []struct{ name, text, want string }{
		{"aliases", "a: &a {b: c}\nd: [*a, *a]\n", ""},
		{"an anchor that is set again", "a: &a 1\nb: *a\nc: &a 2\nd: *a\n", ""},
		{"aliases of aliases", bomb, "f.yaml:7:5: too much: with what the aliases stand for, the file has more than 64 MiB of values"},
		{"a long text, often", long, "f.yaml:2:4: too much: with what"},
		{"many documents", strings.Repeat("---\na: &a "+strings.Repeat("x", 10_000)+"\nb: ["+strings.Repeat("*a, ", 100)+"]\n", 100), "too much: with what"},
		{"an alias of what contains it", "a: &a [[*a]]\n", "f.yaml:1:9: too much: the alias stands for what contains it"},
		{"two that contain each other", "a: &a {b: &b {a: *a, b: *b}}\n", "f.yaml:1:18: too much: the alias"},
		{"a large file", strings.Repeat("- x\n", 1<<21+1), "f.yaml: too much: the file has more than 8 MiB"},
	} {
		_, err := Parse("f.yaml", []byte(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, bounded.ErrTooMuch) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2.5": 2500 * time.Millisecond, "0": 0,
		"-1": -1, "soon": -1, "d": -1, "1d1": -1, "999999999d": -1, "100000d2000000h": -1,
	} {
		got, err := ParseDuration(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: [1, &x {b: *x}]")
	f.Add("\t")
	f.Fuzz(func(_ *testing.T, text string) {
		nodes, err := Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, n := range nodes {
			_, _ = n.Value() // must end
		}
	})
}
