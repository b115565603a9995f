package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/documents"
)

// Mismatch is an expectation that is not met.
type Mismatch struct {
	Place string // file:line:column
	Title string

	// Lines are as those of a diff: they begin with a minus (expected), a plus (found) or a
	// space.
	Lines []string
}

// mismatch makes a mismatch at a place of the file.
func mismatch(n documents.Node, title string, lines ...string) []Mismatch {
	return []Mismatch{{n.Place(), title, lines}}
}

// check is one expectation of a step.
type check func(r *run) []Mismatch

// expectations are the keys of a step expect, in the order in which they are checked.
var expectations = []string{"calls", "objects", "absent", "events", "requests", "patches", "logs"}

// readExpect reads expectations. What they have seen does not count for the next ones.
func (f *File) readExpect(n documents.Node) (action, error) {
	fields, err := n.Fields(expectations...)
	if err != nil {
		return nil, err
	}
	var checks []check
	for _, name := range expectations {
		node, ok := fields[name]
		if !ok {
			continue
		}
		one, err := f.readCheck(name, node)
		if err != nil {
			return nil, err
		}
		checks = append(checks, one)
	}
	return func(r *run) []Mismatch {
		var all []Mismatch
		for _, one := range checks {
			all = append(all, one(r)...)
		}
		r.record.clear()
		return all
	}, nil
}

func (f *File) readCheck(name string, n documents.Node) (check, error) {
	switch name {
	case "calls":
		if n.IsMapping() {
			return readCounts(n)
		}
		return readCalls(n)
	case "objects":
		return f.readObjects(n)
	case "absent":
		return readAbsent(n)
	case "events":
		return readAll(n, name, "reason", func(r *run) []any { return dicts.List(r.record.events) })
	case "requests":
		return readRequests(n)
	case "patches":
		return readSome(n, name, func(r *run) []any { return dicts.List(r.record.patches) })
	default:
		return readSome(n, name, func(r *run) []any { return dicts.List(r.record.logs) })
	}
}

// readCounts reads how often handlers are called, by their ids.
func readCounts(n documents.Node) (check, error) {
	entries, err := n.Entries()
	if err != nil {
		return nil, err
	}
	type count struct {
		handler string
		want    int
		node    documents.Node
	}
	var counts []count
	for _, entry := range entries {
		handler, err := entry.Key.Text()
		if err != nil {
			return nil, err
		}
		want, err := entry.Value.Int()
		if err != nil {
			return nil, err
		}
		counts = append(counts, count{handler, want, entry.Key})
	}
	return func(r *run) []Mismatch {
		var all []Mismatch
		found := map[string]int{}
		for _, c := range r.record.calls {
			found[c.handler]++
		}
		for _, c := range counts {
			if !r.knows(c.handler) {
				all = append(all, r.unknown(c.node, c.handler)...)
			} else if got := found[c.handler]; got != c.want {
				all = append(all, mismatch(c.node, "calls of "+c.handler, fmt.Sprintf("- %d", c.want), fmt.Sprintf("+ %d", got))...)
			}
		}
		return all
	}, nil
}

// wanted is one expected item, in a list of expectations.
type wanted struct {
	node  documents.Node
	value any // a text, or an object with the expected fields
}

func readWanted(n documents.Node, known ...string) ([]wanted, error) {
	items, err := n.List()
	if err != nil {
		return nil, err
	}
	var all []wanted
	for _, item := range items {
		if item.IsMapping() && len(known) > 0 {
			if _, err := item.Fields(known...); err != nil {
				return nil, err
			}
		}
		value, err := item.Value()
		if err != nil {
			return nil, err
		}
		all = append(all, wanted{item, value})
	}
	return all, nil
}

// readCalls reads a complete list of calls.
func readCalls(n documents.Node) (check, error) {
	list, err := readWanted(n, "handler", "object", "reason", "retry", "result", "patch", "error")
	if err != nil {
		return nil, err
	}
	return func(r *run) []Mismatch {
		for _, w := range list {
			if handler := firstText(w.value, "handler"); !r.knows(handler) {
				return r.unknown(w.node, handler)
			}
		}
		return r.compare(n, "calls", list, dicts.List(r.record.ordered()), "handler")
	}, nil
}

func readRequests(n documents.Node) (check, error) {
	list, err := readWanted(n, "request", "body", "status")
	if err != nil {
		return nil, err
	}
	return func(r *run) []Mismatch {
		return r.compare(n, "requests", list, dicts.List(r.record.requests), "request")
	}, nil
}

// readAll reads a complete list. A text stands for an object with one field.
func readAll(n documents.Node, title, field string, items func(r *run) []any) (check, error) {
	list, err := readWanted(n, "type", "reason", "message", "object")
	if err != nil {
		return nil, err
	}
	return func(r *run) []Mismatch { return r.compare(n, title, list, items(r), field) }, nil
}

// readSome reads items that must exist among others, in this order. Of an empty list, none may exist.
func readSome(n documents.Node, title string, items func(r *run) []any) (check, error) {
	list, err := readWanted(n)
	if err != nil {
		return nil, err
	}
	return func(r *run) []Mismatch {
		found, at := items(r), 0
		if len(list) == 0 {
			return r.compare(n, title, nil, found, "")
		}
		for _, w := range list {
			i := slices.IndexFunc(found[min(at, len(found)):], func(item any) bool { return fits(w.value, item, "") })
			if i < 0 {
				return mismatch(w.node, title+": not found", changes(title, []any{w.value}, found)...)
			}
			at += i + 1
		}
		return nil
	}, nil
}

// changes shows what is expected and everything that was found.
func changes(title string, want, found []any) []string {
	var lines []string
	for _, item := range want {
		lines = append(lines, "- "+shown(item))
	}
	for _, item := range found[max(0, len(found)-maxShown):] {
		lines = append(lines, "+ "+shown(item))
	}
	if len(found) == 0 {
		lines = append(lines, "+ (no "+title+")")
	}
	return lines
}

// maxShown bounds the items in a message.
const maxShown = 30

// compare compares a complete list, in its order.
func (r *run) compare(n documents.Node, title string, list []wanted, found []any, field string) []Mismatch {
	var lines []string
	equal, at := true, 0
	for i, w := range list {
		next := slices.IndexFunc(found[at:], func(item any) bool { return fits(w.value, item, field) })
		if next > 0 && !laterFits(list[i+1:], found[at], field) || next == 0 {
			for _, item := range found[at : at+next] {
				lines, equal = append(lines, "+ "+shown(item)), false
			}
			lines = append(lines, "  "+shown(w.value))
			at += next + 1
			continue
		}
		lines, equal = append(lines, "- "+shown(w.value)), false
	}
	for _, item := range found[at:] {
		lines, equal = append(lines, "+ "+shown(item)), false
	}
	if equal {
		return nil
	}
	return mismatch(n, title, shortened(lines)...)
}

// laterFits reports whether an item is expected later: then the expectation before it is missed.
func laterFits(list []wanted, item any, field string) bool {
	return slices.ContainsFunc(list, func(w wanted) bool { return fits(w.value, item, field) })
}

// shortened leaves out lines in the middle of a long list.
func shortened(lines []string) []string {
	if len(lines) <= 2*maxShown {
		return lines
	}
	middle := fmt.Sprintf("  (%d more)", len(lines)-2*maxShown)
	return slices.Concat(lines[:maxShown], []string{middle}, lines[len(lines)-maxShown:])
}

func firstText(value any, field string) string {
	if text, ok := value.(string); ok {
		return text
	}
	return dicts.LookupString(value, field)
}

// fits compares an expected item with a found one. A text stands for an object with one field;
// in texts, it is a part.
func fits(want, found any, field string) bool {
	if text, ok := want.(string); ok {
		if line, ok := found.(string); ok {
			return strings.Contains(line, text)
		}
		want = dicts.Object{field: text}
	}
	return len(differences("", want, form(found))) == 0
}

// form is the form of a found item in which it is compared.
func form(found any) any {
	switch item := found.(type) {
	case *call:
		object := dicts.Object{"handler": item.handler, "object": item.object, "reason": item.reason, "retry": json.Number(strconv.Itoa(item.retry)), "result": item.result, "patch": item.patch}
		if item.failure != nil {
			object["error"] = item.failure.Text()
		}
		return object
	case *request:
		return dicts.Object{"request": item.method + " " + item.path, "body": item.body, "status": json.Number(strconv.Itoa(item.status))}
	}
	return found
}

// shown is an item on one line.
func shown(item any) string {
	switch item := item.(type) {
	case string:
		return item
	case fmt.Stringer:
		return item.String()
	}
	return string(dicts.Encode(item))
}

// readObjects reads parts of objects that must exist.
func (f *File) readObjects(n documents.Node) (check, error) {
	type object struct {
		node documents.Node
		ref  apiserver.Reference
		want dicts.Object
	}
	var all []object
	for _, item := range n.Items() {
		want, err := item.Object()
		if err != nil {
			return nil, err
		}
		ref, err := reference(item)
		if err != nil {
			return nil, item.Errorf("an expected object needs kind and metadata.name")
		}
		all = append(all, object{item, ref, want})
	}
	return func(r *run) []Mismatch {
		var misses []Mismatch
		for _, o := range all {
			got := r.server.Get(o.ref)
			if got == nil {
				misses = append(misses, r.missing(o.node, o.ref)...)
				continue
			}
			if lines := differences("", o.want, got); len(lines) > 0 {
				misses = append(misses, mismatch(o.node, o.ref.Kind+"/"+o.ref.Name, lines...)...)
			}
		}
		return misses
	}, nil
}

func readAbsent(n documents.Node) (check, error) {
	refs, err := references(n)
	if err != nil {
		return nil, err
	}
	items := n.Items()
	return func(r *run) []Mismatch {
		var all []Mismatch
		for i, ref := range refs {
			got := r.server.Get(ref)
			if got == nil {
				continue
			}
			lines := []string{"- absent", "+ exists"}
			if list, ok := dicts.Lookup(got, "metadata", "finalizers"); ok {
				lines = append(lines, "+ metadata.finalizers: "+string(dicts.Encode(list)))
			}
			all = append(all, mismatch(items[i], ref.Kind+"/"+ref.Name, lines...)...)
		}
		return all
	}, nil
}
