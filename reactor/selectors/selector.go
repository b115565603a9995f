package selectors

import (
	"fmt"
	"slices"
	"strings"
)

// Selector selects the resources of a handler: none, one, or many. Selectors are
// comparable. The zero Selector selects nothing; Parse and Named make the others.
//
// Kopf: kopf._cogs.structs.references.Selector.
type Selector struct {
	grouped bool   // whether the group is given: the empty group is the core API
	group   string // matters only if it is given
	version string // empty: the preferred version
	by      criterion
	name    string     // for most criteria
	ask     *predicate // for functions, after Bind
}

// criterion says what the name refers to. The texts are Kopf's.
type criterion string

const (
	byKind       criterion = "kind"
	byPlural     criterion = "plural"
	bySingular   criterion = "singular"
	byShortcut   criterion = "shortcut"
	byCategory   criterion = "category"
	byAnyName    criterion = "any_name"
	byEverything criterion = "everything"
	byFunction   criterion = "fn"
)

// predicate is a function behind a pointer, so that selectors stay comparable.
type predicate struct {
	holds func(Resource) bool
}

// Named selects a resource of one group by any of its names except categories. The empty
// group is the core API; the empty version is the preferred version.
func Named(group, version, name string) Selector {
	return Selector{grouped: true, group: group, version: version, by: byAnyName, name: name}
}

// IsFunction reports whether the guest decides about each resource. Before Bind, such a
// selector selects nothing.
func (s Selector) IsFunction() bool { return s.by == byFunction }

// Bind sets the function of a function selector. Each check calls the function, so it
// should cache its answers. Bind returns other selectors unchanged.
func (s Selector) Bind(holds func(Resource) bool) Selector {
	if s.by == byFunction {
		s.ask = &predicate{holds}
	}
	return s
}

// IsSpecific reports whether the author meant one resource, so that several matches are
// ambiguous. Categories, functions, and Everything are not specific.
func (s Selector) IsSpecific() bool {
	switch s.by {
	case byKind, byPlural, bySingular, byShortcut, byAnyName:
		return true
	default:
		return false
	}
}

// Check reports whether the selector selects the resource. A selector without a version
// selects only the preferred version; a function decides about all versions.
//
// Everything and functions never select Kubernetes events: handling creates events, so
// handling them would never end.
//
// See https://docs.kopf.dev/en/latest/resources/
func (s Selector) Check(r Resource) bool {
	if s.grouped && s.group != r.Group {
		return false
	}
	if s.version == "" && !r.Preferred && s.by != byFunction {
		return false
	}
	if s.version != "" && s.version != r.Version {
		return false
	}
	return s.checkName(r)
}

func (s Selector) checkName(r Resource) bool {
	switch s.by {
	case byKind:
		return s.name == r.Kind
	case byPlural:
		return s.name == r.Plural
	case bySingular:
		return s.name == r.Singular
	case byShortcut:
		return slices.Contains(r.Shortcuts, s.name)
	case byCategory:
		return slices.Contains(r.Categories, s.name)
	case byAnyName:
		return r.hasName(s.name)
	case byEverything:
		return !r.isEvents()
	case byFunction:
		return s.ask != nil && s.ask.holds(r) && !r.isEvents()
	default:
		return false
	}
}

func (r Resource) hasName(name string) bool {
	return name == r.Plural || name == r.Kind || name == r.Singular || slices.Contains(r.Shortcuts, name)
}

// isEvents reports whether the resource is that of Kubernetes events in one of their two
// API groups.
func (r Resource) isEvents() bool {
	return Named("", "v1", "events").Check(r) || Named("events.k8s.io", "", "events").Check(r)
}

// Select returns the selected resources, in their order. As in kubectl, a specific
// selector prefers the core API: pods never means the pods of metrics.k8s.io.
func (s Selector) Select(resources []Resource) []Resource {
	var all, core []Resource
	for _, r := range resources {
		if !s.Check(r) {
			continue
		}
		all = append(all, r)
		if r.Group == "" {
			core = append(core, r)
		}
	}
	if s.IsSpecific() && len(core) > 0 {
		return core
	}
	return all
}

// String formats the selector in Kopf's notation, such as Selector(group='kopf.dev',
// any_name='kopfexamples'), for logs.
func (s Selector) String() string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+"="+value) }
	if s.grouped {
		add("group", quote(s.group))
	}
	if s.version != "" {
		add("version", quote(s.version))
	}
	switch s.by {
	case "":
	case byEverything:
		add(string(byAnyName), "EVERYTHING")
	case byFunction:
		add(string(byFunction), "FUNCTION")
	default:
		add(string(s.by), quote(s.name))
	}
	return fmt.Sprintf("Selector(%s)", strings.Join(parts, ", "))
}

func quote(text string) string { return "'" + text + "'" }
