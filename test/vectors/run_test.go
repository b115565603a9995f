package vectors

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The judge is judged: right, wrong and failing functions, and files without one.
func TestRunAndReport(t *testing.T) {
	dir := t.TempDir()
	cases := `{"function": "f", "notes": "", "cases": [
		{"in": {"x": 1}, "out": {"b": [1, 2.0], "a": null}},
		{"in": {"x": "fail"}, "error": "ValueError: bad"},
		{"in": {"x": 2}, "out": null}]}`
	for _, name := range []string{"right", "wrong", "failing", "lenient", "unknown"} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(cases), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	right := func(c Case) (any, error) {
		if c.In["x"] == "fail" {
			return nil, errors.New("our own text")
		}
		return c.Out, nil
	}
	results, err := Run(dir, map[string]Function{
		"right":   {Call: right},
		"wrong":   {Call: func(Case) (any, error) { return true, nil }},
		"failing": {Call: func(Case) (any, error) { return nil, errors.New("broken") }},
		"lenient": {Call: func(Case) (any, error) { return true, nil }, Equal: func(Case, any) bool { return true }},
	})
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	if Report(&report, results) {
		t.Error("the report says that all has passed")
	}
	want := `failing                    1 passed, 2 failed
  failing #0
    in:       {"x":1}
    expected: {"a":null,"b":[1,2.0]}
    got:      error: broken
  failing #2
    in:       {"x":2}
    expected: null
    got:      error: broken
lenient                    2 passed, 1 failed
  lenient #1
    in:       {"x":"fail"}
    expected: error: ValueError: bad
    got:      true
right                      3 passed, 0 failed
unknown                    FAILED: there is no function for it
wrong                      0 passed, 3 failed
  wrong #0
    in:       {"x":1}
    expected: {"a":null,"b":[1,2.0]}
    got:      true
  wrong #1
    in:       {"x":"fail"}
    expected: error: ValueError: bad
    got:      true
  wrong #2
    in:       {"x":2}
    expected: null
    got:      true
6 passed, 7 failed
`
	if diff := cmp.Diff(want, report.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunOnBadFolders(t *testing.T) {
	if _, err := Run(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "no vectors") {
		t.Errorf("an empty folder: got the error %v", err)
	}
	for name, content := range map[string]string{
		"not JSON":          "{",
		"in is no object":   `{"cases": [{"in": [], "out": 1}]}`,
		"nothing to expect": `{"cases": [{"in": {}}]}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(dir, map[string]Function{"f": {}}); err == nil || !strings.Contains(err.Error(), "f.json") {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

func TestComparisons(t *testing.T) {
	tests := []struct {
		name string
		a, b string
		same bool
	}{
		{"other order of keys", `{"b":1,"a":2}`, `{"a":2,"b":1}`, true},
		{"other end", "{\"a\":1}\n", `{"a":1}`, false},
		{"other spaces", `{"a": 1}`, `{"a":1}`, false},
		{"other values", `{"a":1}`, `{"a":2}`, false},
		{"other text", `text`, `texts`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sameButKeyOrder(test.a, test.b); got != test.same {
				t.Errorf("got %v", got)
			}
		})
	}
	sorted := map[string]bool{`{"a": {"b": 1, "c": 2}, "b": [{"x": 1}]}`: true, `{"a": [{"c": 1, "b": 2}]}`: false, `{"b": 1, "a": 2}`: false}
	for text, want := range sorted {
		if got := hasSortedKeys([]byte(text)); got != want {
			t.Errorf("%s: sorted is %v", text, got)
		}
	}
}
