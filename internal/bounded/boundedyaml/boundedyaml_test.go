package boundedyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedyaml"
)

func TestDecode(t *testing.T) {
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "k%d: {}\n", i)
		}
		return "m:\n " + strings.ReplaceAll(b.String(), "\n", "\n ")
	}
	for _, tt := range []struct {
		name, text, want string
		tooMuch          bool
	}{
		{"nothing", "", "", false},
		{"a comment", "# nothing\n", "", false},
		{"keys", "m: {a: {b: {}}}", "", false},
		{"1,000 keys", keys(1000), "", false},
		{"1,001 keys", keys(1001), "line 2: too much: a mapping with more than 1000 keys", true},
		{"49 levels", "x: " + strings.Repeat("[", 47) + strings.Repeat("]", 47), "", false},
		{"51 levels", "x: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "more than 50 levels", true},
		{"an alias", "x: [&a 1, *a]", "line 1: aliases (*a) are not supported", false},
		{"a merge", "m: &a {}\nx: {<<: *a}", "line 2: aliases", false},
		{"equal keys", "m: {a: {},\n a: {}}", `line 2: the key "a" is already set in line 1`, false},
		{"keys equal but for their quotes", `m: {a: {}, "a": {}}`, "already set", false},
		{"a list as a key", "m: {[a]: {}}", "a key is not a text", false},
		{"unknown keys", "y: 1", "field y not found", false},
		{"two documents", "x: 1\n---\nx: 2\n", "more than one document", false},
		{"a second document that is broken", "x: 1\n---\n{", "more than one document", false},
		{"broken", "x: [", "line 1: did not find", false},
		{"100,001 values", "x: [" + strings.Repeat("a,", 100_001) + "]", "more than 100000 words and signs", true},
		{"a module in base64", "x: " + strings.Repeat("AGFzbQE+/", 1<<20), "", false},
		{"lines of base64", "x: |\n" + strings.Repeat("  "+strings.Repeat("A", 76)+"\n", 20_000), "", false},
	} {
		var into struct {
			X any `yaml:"x"`
			M map[string]map[string]any
		}
		err := boundedyaml.Decode([]byte(tt.text), &into)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) || errors.Is(err, bounded.ErrTooMuch) != tt.tooMuch {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestWorstDocuments: those that cost most of all repetitions of two parts of the syntax, which were tried: equal keys
// are quadratic in the decoder, and as many empty values as possible cost most in the parser.
func TestWorstDocuments(t *testing.T) {
	repeated := func(head, part string) []byte { return []byte(head + strings.Repeat(part, 1<<20/len(part))) }
	within := func(head, part, tail string) []byte { return []byte(head + strings.Repeat(part, 24_000) + tail) }
	var different strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&different, "%x:\n", i)
	}
	for name, text := range map[string][]byte{
		"equal keys, 1 MiB":         repeated("", "a:\n"),
		"equal keys":                within("", "a:\n", ""),
		"equal keys in a flow":      within("{", "a,", "}"),
		"equal empty keys":          within("", "? \n", ""),
		"different keys":            []byte(different.String()),
		"empty values":              within("[", "a,", "]"),
		"comments":                  within("{", "# a\na,", "}"),
		"comments without values":   within("", "#\n", ""),
		"flows":                     within("", "[", ""),
		"flows of mappings":         within("", "{a,", ""),
		"nested lists":              within("", "- ", ""),
		"nested keys":               within("", "? ", ""),
		"keys in flows":             within("", "[<<: ", ""),
		"anchors":                   within("[", "&a b,", "]"),
		"aliases":                   within("[&a b,", "*a,", "]"),
		"aliases of aliases":        []byte("a: &a [x,x,x,x,x,x,x,x]\n" + nested(20)),
		"merges":                    within("a: &a {b: c}\n", "<<: *a\n", ""),
		"tags":                      within("[", "!!binary a,", "]"),
		"documents":                 within("", "--- a\n", ""),
		"a long word":               []byte(strings.Repeat("a", 8<<20)),
		"a long quoted text":        []byte(`"` + strings.Repeat("a", 8<<20) + `"`),
		"many lines of a long text": []byte("|\n" + strings.Repeat(" "+strings.Repeat("a", 200)+"\n", 40_000)),
	} {
		boundedtest.Parse(t, name, text, func(text []byte) error {
			var into any
			return boundedyaml.Decode(text, &into)
		})
	}
}

// nested makes each key a list of eight aliases of the one before.
func nested(levels int) string {
	var b strings.Builder
	for i := range levels {
		before, now := string(rune('a'+i)), string(rune('b'+i))
		fmt.Fprintf(&b, "%s: &%s [%s]\n", now, now, strings.TrimSuffix(strings.Repeat("*"+before+",", 8), ","))
	}
	return b.String()
}

// FuzzCheck: what is accepted, the decoder ends with in memory that the document's length bounds.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"", "a: b\n", "a: &x [1]\nb: *x", "{a,a}", "? [a]\n: b", "- - -", "--- a\n--- b", "a: !!binary x", "\"\\u0000\": 1", "<<: {a: b}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		boundedtest.Parse(t, "fuzzed", text, func(text []byte) error {
			var into any
			return boundedyaml.Decode(text, &into)
		})
	})
}
