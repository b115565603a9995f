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
	for _, root := range []Path{Groups, Core} {
		_, rest, found := strings.Cut(path, string(root)+"/")
		if !found {
			continue
		}
		parts := strings.Split(strings.Trim(rest, "/"), "/")
		if root == Groups {
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
	return Target{}, false
}
