package calls

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// attributes describe a request to the API as RBAC sees it.
type attributes struct {
	verb      string
	resource  Resource
	namespace string // empty: cluster-scoped, or all namespaces
	name      string
	discovery bool         // what the API server offers is read, and no resource: the fields above are absent
	path      apipath.Path // built from the other fields, so that the checked request is the sent one
}

// String formats the attributes for messages: "create persistentvolumeclaims in ns1".
func (a attributes) String() string {
	if a.discovery {
		return "read " + string(a.path)
	}
	text := a.verb + " " + a.resource.String()
	if a.namespace != "" {
		text += " in " + a.namespace
	}
	return text
}

// tunnels are the subresources that connect to other servers.
var tunnels = []string{"exec", "attach", "portforward", "proxy"}

// parsePath splits the path of an API request. It rejects paths in any but the canonical
// form, so that the check and the server read the same request.
func parsePath(text string) (segments []string, query url.Values, err error) {
	before, after, _ := strings.Cut(text, "?")
	if len(text) > maxPath || !strings.HasPrefix(before, "/") {
		return nil, nil, invalid("the path %q must begin with / and have at most %d bytes", shown(text), maxPath)
	}
	segments = strings.Split(before[1:], "/")
	if end := len(segments) - 1; segments[end] == "" && discovers(segments[:end]) {
		segments = segments[:end] // as clients in Python write them
	}
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, notInPaths) {
			return nil, nil, invalid("the path %q has the segment %q, as no resource has", shown(text), shown(segment))
		}
	}
	if query, err = url.ParseQuery(after); err != nil || strings.Contains(after, "#") {
		return nil, nil, invalid("the query of %q is malformed", shown(text))
	}
	return segments, query, nil
}

// maxPath limits the length of paths and URLs, in bytes, as servers do.
const maxPath = 8 << 10

func notInPaths(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_:~@", r))
}

// discovers reports whether a path is one of those by which clients learn which resources there are: the version of the
// server, the versions and groups of its APIs, and the resources of a version.
func discovers(segments []string) bool {
	switch {
	case len(segments) == 0:
		return false
	case segments[0] == "version":
		return len(segments) == 1
	case segments[0] == "api":
		return len(segments) <= 2
	}
	return segments[0] == "apis" && (len(segments) == 1 || len(segments) == 3)
}

// discovery returns the attributes of a request for such a path.
func discovery(segments []string) (a attributes, err error) {
	a.verb, a.discovery = "get", true
	switch strings.Join(segments, "/") {
	case "version":
		a.path = apipath.ServerVersion
	case "api":
		a.path = apipath.Core
	case "apis":
		a.path = apipath.Groups
	default:
		t := apipath.Target{Version: segments[len(segments)-1]}
		if segments[0] == "apis" {
			t.Group = segments[1]
		}
		if a.path, err = apipath.Of(t); err != nil {
			return a, invalid("%v", err)
		}
	}
	return a, nil
}

// attributesOf returns the attributes of a request.
func attributesOf(method string, segments []string, query url.Values) (attributes, error) {
	var a attributes
	var version string
	switch {
	case method == http.MethodGet && discovers(segments):
		return discovery(segments)
	case len(segments) >= 3 && segments[0] == "api":
		version, segments = segments[1], segments[2:]
	case len(segments) >= 4 && segments[0] == "apis":
		a.resource.Group, version, segments = segments[1], segments[2], segments[3:]
	default:
		return a, invalid("/%s is not the path of a resource, like /api/v1/namespaces/NAMESPACE/pods", shown(strings.Join(segments, "/")))
	}
	if segments[0] == "watch" || segments[0] == "proxy" || query.Has("watch") {
		return a, invalid("guests cannot watch through calls: register a handler")
	}
	within := "" // the namespace of the object; for a namespace object, its own name
	if segments[0] == "namespaces" && len(segments) > 1 {
		a.namespace = segments[1]
		if len(segments) > 2 && segments[2] != "status" && segments[2] != "finalize" {
			within, segments = a.namespace, segments[2:]
		}
	}
	if len(segments) > 3 {
		return a, invalid("/%s is too deep for a resource", shown(strings.Join(segments, "/")))
	}
	a.resource.Plural = segments[0]
	if len(segments) > 1 {
		a.name = segments[1]
	}
	if len(segments) > 2 {
		a.resource.Subresource = segments[2]
	}
	if slices.Contains(tunnels, a.resource.Subresource) {
		return a, invalid("the subresource %s leads out of the API: guests cannot use it", a.resource)
	}
	var err error
	a.path, err = apipath.Of(apipath.Target{
		Group: a.resource.Group, Version: version, Namespace: within,
		Plural: a.resource.Plural, Name: a.name, Subresource: a.resource.Subresource,
	})
	if err != nil {
		return a, invalid("%v", err)
	}
	a.verb, err = verbOf(method, a.name != "")
	return a, err
}

// verbOf returns the RBAC verb of a method.
func verbOf(method string, named bool) (string, error) {
	switch method {
	case http.MethodGet:
		if named {
			return "get", nil
		}
		return "list", nil
	case http.MethodPost:
		return "create", nil
	case http.MethodPut:
		return "update", nil
	case http.MethodPatch:
		return "patch", nil
	case http.MethodDelete:
		if named {
			return "delete", nil
		}
		return "deletecollection", nil
	}
	return "", invalid("the method of a request to Kubernetes must be GET, POST, PUT, PATCH, or DELETE, not %q", shown(method))
}

// allows returns an error unless a grant covers the request, given the served namespaces. Any grant covers discovery, which each
// account may read.
func (g Grants) allows(a attributes, served []string) error {
	if a.discovery {
		if len(g.Kubernetes) == 0 {
			return &refusal{abi.CallNotGranted, fmt.Sprintf("the operator is not granted to %s: any grant of requests to Kubernetes allows it, such as %s get:pods", a, flagKubernetes)}
		}
		return nil
	}
	elsewhere := false
	for _, rule := range g.Kubernetes {
		if !rule.covers(a.verb, a.resource) {
			continue
		}
		if rule.reaches(a.namespace, served) {
			return nil
		}
		elsewhere = true
	}
	wanted := Rule{Verbs: []string{a.verb}, Resources: []Resource{a.resource}}
	switch {
	case a.namespace != "" && (elsewhere || !serves(served, a.namespace)):
		wanted.Namespaces = []string{a.namespace}
	case a.namespace == "" && len(served) > 0:
		wanted.Namespaces = []string{all}
	}
	return &refusal{abi.CallNotGranted, fmt.Sprintf("the operator is not granted to %s: %s %s", a, flagKubernetes, quoted(wanted.String()))}
}

// reaches reports whether the rule covers the namespace; "" stands for cluster-scoped
// resources and for all namespaces.
func (r Rule) reaches(namespace string, served []string) bool {
	if len(r.Namespaces) == 0 {
		return serves(served, namespace)
	}
	return slices.ContainsFunc(r.Namespaces, func(pattern string) bool {
		matched, err := path.Match(pattern, namespace)
		return pattern == all || namespace != "" && err == nil && matched
	})
}
