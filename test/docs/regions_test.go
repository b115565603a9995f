package docs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// marker opens or closes a region of a source file: // [name] and // [/name], in Python # [name].
var marker = regexp.MustCompile(`^\s*(?://|#) \[(/?)([a-z-]+)\]$`)

// errRegion is a region that is opened or closed wrongly.
var errRegion = errors.New("broken region")

// regions cuts the regions out of a source file, by their names. They must not nest.
func regions(source string) (map[string]string, error) {
	found := map[string]string{}
	name, lines := "", []string(nil)
	for i, line := range strings.Split(source, "\n") {
		mark := marker.FindStringSubmatch(line)
		switch {
		case mark == nil:
			lines = append(lines, line)
		case mark[1] == "" && name == "" && found[mark[2]] == "":
			name, lines = mark[2], nil
		case mark[1] == "/" && mark[2] == name:
			found[name] = outdented(lines)
			name = ""
		default:
			return nil, fmt.Errorf("%w: line %d: %s", errRegion, i+1, strings.TrimSpace(line))
		}
	}
	if name != "" {
		return nil, fmt.Errorf("%w: %s is not closed", errRegion, name)
	}
	return found, nil
}

// outdented takes off what all lines are indented by, and the empty lines around them.
func outdented(lines []string) string {
	text := strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
	for _, indent := range []string{"\t", "  "} { // of Go, and of the others
		for strings.HasPrefix(text, indent) {
			shorter := ""
			for line := range strings.Lines(text) {
				rest, ok := strings.CutPrefix(line, indent)
				if !ok && line != "\n" {
					return text
				}
				shorter += rest
			}
			text = shorter
		}
	}
	return text
}

func TestRegions(t *testing.T) {
	tests := []struct {
		name, source string
		want         map[string]string
		bad          bool
	}{
		{"none", "package a\n", map[string]string{}, false},
		{"of the file", "x\n// [a]\n\nfunc f() {\n\tg()\n}\n\n// [/a]\ny\n", map[string]string{"a": "func f() {\n\tg()\n}\n"}, false},
		{"in a function", "\t// [a-b]\n\tif x {\n\t\ty()\n\n\t}\n\t// [/a-b]\n", map[string]string{"a-b": "if x {\n\ty()\n\n}\n"}, false},
		{"not closed", "// [a]\nx\n", nil, true},
		{"in Python", "def f():\n    # [a]\n    x()\n    # [/a]\n", map[string]string{"a": "x()\n"}, false},
		{"nested", "// [a]\n// [b]\nx\n// [/b]\n// [/a]\n", nil, true},
		{"twice", "// [a]\nx\n// [/a]\n// [a]\ny\n// [/a]\n", nil, true},
		{"closed only", "// [/a]\n", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := regions(tt.source)
			if !maps.Equal(got, tt.want) || errors.Is(err, errRegion) != tt.bad {
				t.Errorf("got %q and the error %v, want %q", got, err, tt.want)
			}
		})
	}
}

// region is a part of a compiled file.
type region struct{ path, name, text string }

// topic is what a region is about: regions of equal topics show the same in several languages. It
// is the name of the file and that of the region, as in daemons/sleep.
func (r region) topic() string {
	file := strings.TrimSuffix(filepath.Base(r.path), filepath.Ext(r.path))
	if filepath.Ext(r.path) == ".go" {
		file = filepath.Base(filepath.Dir(r.path))
	}
	return file + "/" + r.name
}

// compiled are the regions of all files that snippets may be cut from.
func compiled(t *testing.T) []region {
	t.Helper()
	var all []region
	for _, folder := range []string{"docs/snippets", "test/docs"} {
		var paths []string
		for _, suffix := range []string{".go", ".rs", ".py", ".js"} {
			paths = append(paths, files(t, folder, suffix)...)
		}
		for _, path := range paths {
			if path == "test/docs/regions_test.go" {
				continue // it has markers in texts
			}
			found, err := regions(read(t, path))
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for name, text := range found {
				all = append(all, region{path, name, text})
			}
		}
	}
	slices.SortFunc(all, func(a, b region) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.name, b.name))
	})
	return all
}
