// Package apipath makes the paths of requests to the Kubernetes API. No other package
// makes paths. Guests name objects, namespaces and resources, and a path with unchecked
// names can reach other objects with the operator's rights.
//
// A test of the repository fails for paths that are made elsewhere.
package apipath

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Path is the path of a request, escaped, without a query.
type Path string

// These paths have no variable parts.
const (
	Core          Path = "/api"     // the versions of the core API
	Groups        Path = "/apis"    // the groups of all other APIs
	ServerVersion Path = "/version" // the version of the server
)

// maxName is the maximum length of a name in bytes. Most resources allow 253 bytes. For
// resources of access control, the API server sets no limit.
const maxName = 1024

// Target identifies what a request is about. Absent parts are empty.
type Target struct {
	Group       string // absent: the core API
	Version     string // required
	Namespace   string // absent: cluster-scoped, or all namespaces
	Plural      string // the resource; absent: the discovery document of the version
	Name        string // absent: all objects
	Subresource string
}

// ErrIncomplete means that a target lacks a part that another part requires: the version,
// the resource of a name or a namespace, or the name for a subresource.
var ErrIncomplete = errors.New("incomplete API path")

// maxSegments is the number of segments of a path with all parts.
const maxSegments = 8

// part is a part of a target with its check. The check returns what is wrong.
type part struct {
	kind, text string
	dotted     bool // valid names may have several labels
	check      func(text string) []string
}

// maxLabel is the maximum length of a label of DNS in bytes.
const maxLabel = 63

// isPlain reports whether a part is one that each check allows, as almost all are: labels of lower-case letters, digits and
// hyphens. The checks are regular expressions, which take longer than the rest of a path.
func (p part) isPlain() bool {
	if len(p.text) > maxLabel {
		return false
	}
	begins := true // a label; not with a digit, as DNS-1035 demands
	for i := range len(p.text) {
		switch c := p.text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9' && !begins:
			begins = false
		case c == '-' && !begins && i+1 < len(p.text) && p.text[i+1] != '.':
		case c == '.' && p.dotted && !begins && i+1 < len(p.text):
			begins = true
		default:
			return false
		}
	}
	return true
}

// Of makes the path of a target. Each part must be valid for the API server: a DNS-1123
// subdomain (group, resource), a DNS-1035 label (version), a DNS-1123 label (namespace),
// one path segment (name, subresource).
//
// Errors: ErrIncomplete; other errors name the part and show its value.
func Of(t Target) (Path, error) {
	switch {
	case t.Version == "",
		t.Plural == "" && (t.Namespace != "" || t.Name != ""),
		t.Name == "" && t.Subresource != "":
		return "", fmt.Errorf("%w: %+v", ErrIncomplete, t)
	}
	root := Groups
	if t.Group == "" {
		root = Core
	}
	segments := append(make([]string, 0, maxSegments), string(root)) // on the stack
	for _, p := range [...]part{
		{"API group", t.Group, true, validation.IsDNS1123Subdomain},
		{"API version", t.Version, false, validation.IsDNS1035Label},
		{"namespace", t.Namespace, false, validation.IsDNS1123Label},
		{"resource", t.Plural, true, validation.IsDNS1123Subdomain},
		{"name", t.Name, true, checkName},
		{"subresource", t.Subresource, true, checkSubresource},
	} {
		if p.text == "" {
			continue
		}
		if p.kind == "namespace" {
			segments = append(segments, "namespaces")
		}
		if p.isPlain() {
			segments = append(segments, p.text)
			continue
		}
		if problems := p.check(p.text); len(problems) > 0 {
			return "", fmt.Errorf("invalid %s %.100q: %s", p.kind, p.text, strings.Join(problems, "; "))
		}
		segments = append(segments, url.PathEscape(p.text))
	}
	return Path(strings.Join(segments, "/")), nil
}

// CheckNamespace checks the name of a namespace.
func CheckNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("invalid namespace %.100q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// CheckName checks the name of an object of any resource.
func CheckName(name string) error {
	problems := checkName(name)
	if name == "" {
		problems = []string{validation.EmptyError()}
	}
	if len(problems) > 0 {
		return fmt.Errorf("invalid name %.100q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// checkName checks the name of an object as the API server does for all resources. Some
// resources are stricter; names of access control may contain colons, for example.
func checkName(name string) []string {
	problems := content.IsPathSegmentName(name)
	if len(name) > maxName {
		problems = append(problems, validation.MaxLenError(maxName))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		problems = append(problems, "must be UTF-8 without control characters")
	}
	return problems
}

// checkSubresource accepts names of resources, and the underscores that metrics use.
func checkSubresource(name string) []string {
	return validation.IsDNS1123Subdomain(strings.ToLower(strings.ReplaceAll(name, "_", "-")))
}
