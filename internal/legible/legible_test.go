package legible_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/internal/legible"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"tab\tstays":                  "tab\tstays",
		"größe 日本語　שלום":              "größe 日本語　שלום",
		"family 👩\u200d👧 می\u200cشود": "family 👩\u200d👧 می\u200cشود",
		`a \n backslash`:              `a \n backslash`,
		"a\nb\r\nc":                   `a\nb\r\nc`,
		"\x1b[31mred\x1b]0;t\a":       `\u001b[31mred\u001b]0;t\u0007`,
		"\x7f\u0085\u009b":            `\u007f\u0085\u009b`,
		"\u2028\u2029":                `\u2028\u2029`,
		"\u202a\u202e\u2066\u2069":    `\u202a\u202e\u2066\u2069`,
		"\u200b\u200e\ufeff\u00ad":    `\u200b\u200e\ufeff\u00ad`,
		"\U000e0041":                  `\udb40\udc41`,
		"\U000e0100\U000e01ef":        `\udb40\udd00\udb40\uddef`,
		"a\u3164\u115f\uffa0\u034f":   `a\u3164\u115f\uffa0\u034f`,
		"\ufe00":                      `\ufe00`,
		"❤\ufe0f ☎\ufe0e":             "❤\ufe0f ☎\ufe0e",
		"a\xffb\xe2\x82":              `a\xffb\xe2\x82`,
		"the sign \ufffd":             "the sign \ufffd",
		"\x00":                        `\u0000`,
	} {
		if got := legible.Line(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := string(legible.AppendLine([]byte("x"), []byte(text))); got != "x"+want {
			t.Errorf("%q appended: %q", text, got)
		}
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"one":                     "one",
		"one\ntwo\n[x] three":     "one\n| two\n| [x] three",
		"one\r\ntwo\rthree":       "one\n| two\\rthree",
		"end\n":                   "end\n| ",
		"one\u2028two\x1b[2J\n\n": `one\u2028two\u001b[2J` + "\n| \n| ",
	} {
		if got := legible.Lines(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{"abcd": "abcd", "abcde": "abcd… (1 bytes more)", "abcä": "abc… (2 bytes more)"} {
		if got := legible.Clip(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	inner := errors.New("a\nb\x1b" + strings.Repeat("x", 5000))
	err := legible.Error(inner)
	if text := err.Error(); !errors.Is(err, inner) || len(text) > 2100 || !strings.HasPrefix(text, `a\nb\u001bxxx`) {
		t.Errorf("%.50q, %d bytes", text, len(text))
	}
}

// FuzzLegible: whatever comes, a line is one line of characters that can be shown, and JSON keeps its meaning.
func FuzzLegible(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\x1b[2J", "\u202e\u2028\U000e0041", "\xff\xfe", `{"a":"b"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := legible.Line(text)
		for _, r := range line {
			if r < ' ' && r != '\t' || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) && r != '\t' {
				t.Fatalf("%q leaves %U", text, r)
			}
		}
		if !utf8.ValidString(line) || legible.Line(line) != line {
			t.Fatalf("%q gives %q", text, line)
		}
		for i, part := range strings.Split(legible.Lines(text), "\n") {
			if i > 0 && !strings.HasPrefix(part, legible.Continuation) {
				t.Fatalf("%q has the line %q", text, part)
			}
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(encoded, &before), json.Unmarshal(legible.JSON(encoded), &after)); err != nil || before != after {
			t.Fatalf("%q became %q: %v", before, after, err)
		}
	})
}
