package selectors

import (
	"fmt"
	"slices"
	"strings"
)

// Selector is what a handler says about the resources that it is for. It may
// select none, one, or many of them. Selectors are comparable. The zero
// Selector selects nothing; Parse and Named make the others.
//
// Kopf: kopf._cogs.structs.references.Selector.
type Selector struct {
	grouped bool   // whether the group is given: the empty one is the core API
	group   string // any group, if it is not given
	version string // empty: the preferred version
	by      criterion
	name    string     // by most criteria
	ask     *predicate // by function, once it is bound
}

// criterion says what the name is. The texts are the reference's.
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

// predicate is a function with an identity, so that selectors stay comparable.
type predicate struct {
	holds func(Resource) bool
}

// Named selects a resource of one group by any of its names but categories.
// The empty group is the core API; the empty version is the preferred one.
func Named(group, version, name string) Selector {
	return Selector{grouped: true, group: group, version: version, by: byAnyName, name: name}
}

// IsFunction tells that the guest is to be asked about each resource. Until
// Bind says how, such a selector selects nothing.
func (s Selector) IsFunction() bool { return s.by == byFunction }

// Bind gives a function selector its function. The function is called for each
// check, so it should remember its answers. Other selectors stay as they are.
func (s Selector) Bind(holds func(Resource) bool) Selector {
	if s.by == byFunction {
		s.ask = &predicate{holds}
	}
	return s
}

// IsSpecific tells that the author meant one resource, so that it is an
// ambiguity to select several. Categories, functions, and Everything mean many.
func (s Selector) IsSpecific() bool {
	switch s.by {
	case byKind, byPlural, bySingular, byShortcut, byAnyName:
		return true
	default:
		return false
	}
}

// Check tells whether the resource is one of those that are meant. Without a
// version in the selector, only the preferred version of the resource is; but
// a function decides about all versions.
//
// Everything and functions never mean the events of the cluster: they come
// from handling itself, so that handling them would never end.
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

// isEvents tells whether the objects are Kubernetes events in one of their two
// API groups.
func (r Resource) isEvents() bool {
	return Named("", "v1", "events").Check(r) || Named("events.k8s.io", "", "events").Check(r)
}

// Select returns those of the resources that are meant, in their order. As
// kubectl does, a specific selector prefers the core API: pods are never the
// pods of metrics.k8s.io.
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

// String describes the selector in the notation of the reference, such as
// Selector(group='kopf.dev', any_name='kopfexamples'), for logs.
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
