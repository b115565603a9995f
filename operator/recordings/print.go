package recordings

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// canonical sorts the keys of a document.
func canonical(encoded []byte) string {
	value, err := dicts.Decode(encoded)
	if err != nil {
		return string(encoded)
	}
	return string(dicts.Encode(value))
}

// Print writes a report for people.
func (r *Report) Print(to io.Writer) error {
	d := r.Difference
	if d == nil {
		_, err := fmt.Fprintf(to, "%d calls replayed: all as recorded\n", r.Calls)
		return err
	}
	title := d.Handler
	if d.Object != "" {
		title += " of " + d.Object
	}
	if d.Reason != "" {
		title += " (" + d.Reason + ")"
	}
	_, err := fmt.Fprintf(to, "call %d, %s: the %s differs\n%s", d.Call, legible.Line(title), d.What, changes(d.Want, d.Got))
	return err
}

// changes shows the parts of two messages that differ, one a line.
func changes(want, got string) string {
	before, after := parts(want), parts(got)
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(union(before, after))) {
		if before[path] == after[path] {
			continue
		}
		for _, side := range []struct {
			sign  string
			parts map[string]string
		}{{"-", before}, {"+", after}} {
			if value, ok := side.parts[path]; ok {
				fmt.Fprintf(&out, "  %s %s\n", side.sign, legible.Line(strings.TrimPrefix(path+": "+value, ": ")))
			}
		}
	}
	return out.String()
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for path := range a {
		all[path] = true
	}
	for path := range b {
		all[path] = true
	}
	return all
}

// parts are the values of a message by their paths. Texts with JSON are taken apart, too.
func parts(encoded string) map[string]string {
	if encoded == "" {
		return map[string]string{"": "(nothing)"}
	}
	all := map[string]string{}
	value, err := dicts.Decode([]byte(encoded))
	if err != nil {
		return map[string]string{"": encoded}
	}
	flatten(value, "", func(path string, value any) { all[path] = string(dicts.Encode(value)) })
	return all
}

// flatten visits the values of a document that are no objects, in the order of their paths.
func flatten(value any, path string, visit func(path string, value any)) {
	object, ok := value.(dicts.Object)
	if !ok || len(object) == 0 {
		visit(path, value)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		flatten(object[name], strings.TrimPrefix(path+"."+name, "."), visit)
	}
}
