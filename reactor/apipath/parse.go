package apipath

import (
	"slices"
	"strings"
)

// ofNamespaces are the subresources of a namespace. Other parts after its name are resources
// in it.
var ofNamespaces = []string{"status", "finalize"}

// Parse returns the target of a path that the API server gets, unescaped and without a query;
// false for paths of no resource. The path may begin with that of the server, as behind a
// proxy. Of a subresource with a path of its own, it returns the first part. Parse checks no
// names: see Of.
func Parse(path string) (t Target, ok bool) {
	const core = string(Core) + "/v1/"
	at := strings.Index(path, core)
	if at < 0 || strings.Contains(path[:at], string(Groups)+"/") { // an object may have the name apis
		at = len(path)
	}
	rest, isCore := strings.CutPrefix(path[at:], string(Core)+"/")
	if !isCore {
		_, rest, _ = strings.Cut(path, string(Groups)+"/")
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	if !isCore {
		t.Group, parts = parts[0], parts[1:]
	}
	if len(parts) < 2 {
		return Target{}, false
	}
	t.Version, parts = parts[0], parts[1:]
	if len(parts) > 2 && parts[0] == "namespaces" && !slices.Contains(ofNamespaces, parts[2]) {
		t.Namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&t.Plural, &t.Name, &t.Subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return t, true
}
