package bounded_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		max            int
		good           bool
	}{
		{"a number", `1`, 1, true},
		{"three elements", `[1,2,3]`, 4, true},
		{"too many elements", `[1,2,3]`, 3, false},
		{"members", `{"a":1,"b":{"c":2}}`, 4, true},
		{"too many members", `{"a":1,"b":{"c":2}}`, 3, false},
		{"what looks like values in a string", `"[,,,,,,,{\",,,,\\"`, 1, true},
		{"values behind a string", `["\\",1,2]`, 3, false},
		{"a string without an end", `"\`, 1, true},
		{"deep", strings.Repeat("[", 500), 1000, true},
		{"too deep", strings.Repeat("[", 501), 1000, false},
		{"many on one level", "[" + strings.Repeat("[],", 600) + "[]]", 2000, true},
	} {
		if err := bounded.JSON([]byte(tt.document), tt.max); (err == nil) != tt.good || err != nil && !errors.Is(err, bounded.ErrTooMuch) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		for _, from := range []io.Reader{strings.NewReader(tt.document), iotest.OneByteReader(strings.NewReader(tt.document)), iotest.HalfReader(strings.NewReader(tt.document))} {
			r := bounded.Reader(from, tt.max)
			got, err := io.ReadAll(r)
			if (err == nil) != tt.good || err != nil && !errors.Is(err, bounded.ErrTooMuch) || tt.good && string(got) != tt.document {
				t.Errorf("%s: read %q, error %v", tt.name, got, err)
			}
			if n, again := r.Read(make([]byte, 1)); n != 0 || err != nil && !errors.Is(again, err) {
				t.Errorf("%s: read again: %d, error %v", tt.name, n, again)
			}
		}
	}
}

// count is the number of values in a decoded document.
func count(value any) int {
	n := 1
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			n += count(e)
		}
	case map[string]any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// Documents within the bound have no more values than that.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\"",{}]}`), 5)
	f.Add([]byte(`["\\",[[]]]`), 3)
	f.Fuzz(func(t *testing.T, document []byte, limit int) {
		half := len(document) / 2
		if _, err := io.ReadAll(bounded.Reader(io.MultiReader(bytes.NewReader(document[:half]), bytes.NewReader(document[half:])), max(limit, 1))); (err == nil) != (bounded.JSON(document, max(limit, 1)) == nil) {
			t.Errorf("in two parts: %v", err)
		}
		var value any
		if limit < 1 || bounded.JSON(document, limit) != nil || json.Unmarshal(document, &value) != nil {
			return
		}
		if n := count(value); n > 2*limit {
			t.Errorf("%d values, allowed %d", n, limit)
		}
	})
}
