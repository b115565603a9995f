package calls

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/abi"
)

// Rule grants requests to the Kubernetes API, as in RBAC: each of the verbs for each of
// the resources.
type Rule struct {
	Verbs     []string // get, list, create, update, patch, delete, deletecollection, or *
	Resources []Resource

	// Namespaces are globs; "*" is everything. Default (empty): the namespaces that the
	// operator serves, and cluster-scoped resources only if it serves the whole cluster.
	Namespaces []string
}

// Resource is a resource of a rule. The plural "*" stands for all resources of the group
// including subresources, the group "*" for all groups.
type Resource struct{ Plural, Subresource, Group string }

// all stands for every verb, group, resource or namespace.
const all = "*"

var verbs = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}

// Verbs are those that * stands for: guests can make no other requests.
func Verbs() []string { return slices.Clone(verbs) }

// ParseRule parses a rule of the form VERBS:RESOURCES[:NAMESPACES], with commas within
// each part: get,list:pods,deployments.apps:team-*. Subresources have the form pods/log or
// deployments.apps/scale.
func ParseRule(text string) (Rule, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return Rule{}, fmt.Errorf("%q: want VERBS:RESOURCES[:NAMESPACES], like get,list:pods:default", text)
	}
	rule := Rule{Verbs: strings.Split(parts[0], ",")}
	for item := range strings.SplitSeq(parts[1], ",") {
		resource, err := parseResource(item)
		if err != nil {
			return Rule{}, fmt.Errorf("%q: %w", text, err)
		}
		rule.Resources = append(rule.Resources, resource)
	}
	if len(parts) == 3 {
		rule.Namespaces = strings.Split(parts[2], ",")
	}
	if err := rule.check(); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", text, err)
	}
	return rule, nil
}

func parseResource(text string) (Resource, error) {
	if text == all {
		return Resource{Plural: all, Group: all}, nil
	}
	before, subresource, divided := strings.Cut(text, "/")
	plural, group, grouped := strings.Cut(before, ".")
	if divided && subresource == "" || grouped && group == "" { // the rest would grant something else
		return Resource{}, fmt.Errorf("the resource %q has an empty part", text)
	}
	return Resource{Plural: plural, Subresource: subresource, Group: group}, nil
}

// Bounds of what a guest wants. Each resource of a rule is in each of its groups, so few names may
// mean many resources.
const (
	maxResources  = 1000 // of all rules
	maxNamespaces = 1000 // of all rules
	maxHosts      = 1000
)

// Each request that is not granted is compared with all patterns of namespaces.
const (
	maxPattern = 253 // bytes of a pattern
	maxName    = 63  // bytes of the name of a namespace
)

// ruleOf converts a rule that a guest declares.
func ruleOf(wanted abi.KubernetesRule) (Rule, error) {
	if resources := len(wanted.Groups) * len(wanted.Resources); resources > maxResources || len(wanted.Verbs) > len(verbs)+1 || len(wanted.Namespaces) > maxNamespaces {
		return Rule{}, fmt.Errorf("a rule wants %d verbs for %d resources in %d namespaces: at most %d verbs, %d resources and %d namespaces can be wanted; * means all", len(wanted.Verbs), resources, len(wanted.Namespaces), len(verbs)+1, maxResources, maxNamespaces)
	}
	if len(wanted.Groups) == 0 || len(wanted.Resources) == 0 || len(wanted.Verbs) == 0 {
		return Rule{}, errors.New(`a rule needs groups, resources and verbs; the group of pods and other core resources is ""`)
	}
	rule := Rule{Verbs: wanted.Verbs, Namespaces: wanted.Namespaces}
	for _, group := range wanted.Groups {
		for _, resource := range wanted.Resources {
			plural, subresource, divided := strings.Cut(resource, "/")
			if divided && subresource == "" {
				return Rule{}, fmt.Errorf("the resource %q has an empty part", resource)
			}
			rule.Resources = append(rule.Resources, Resource{plural, subresource, group})
		}
	}
	return rule, rule.check()
}

func (r Rule) check() error {
	for _, verb := range r.Verbs {
		if verb != all && !slices.Contains(verbs, verb) {
			return fmt.Errorf("unknown verb %q: want %s, or *", verb, strings.Join(verbs, ", "))
		}
	}
	for _, resource := range r.Resources {
		if err := resource.check(); err != nil {
			return err
		}
	}
	for _, namespace := range r.Namespaces {
		if len(namespace) > maxPattern {
			return fmt.Errorf("%.100q… has %d bytes: a pattern of namespaces has at most %d bytes", namespace, len(namespace), maxPattern)
		}
		if _, err := path.Match(namespace, ""); err != nil || !namespacePattern.MatchString(namespace) {
			return fmt.Errorf("%q is not a pattern of namespaces: want letters, digits, -, *, ?, or [...]; a grant cannot exclude namespaces", namespace)
		}
	}
	return nil
}

// namespacePattern are the patterns that can match names of namespaces. It has no ! of other patterns of
// namespaces, which would exclude nothing here.
var namespacePattern = regexp.MustCompile(`^[-a-z0-9*?^\[\]]+$`)

// check refuses what no resource is called. Without that, a rule could give something else than it
// says, and its text, which administrators copy, could be a command of a shell.
func (r Resource) check() error {
	if r.Plural == "" {
		return fmt.Errorf("a resource without a name")
	}
	for _, p := range [...]struct {
		kind, text string
		check      func(string) []string
	}{
		{"resource", r.Plural, validation.IsDNS1123Label},
		{"API group", r.Group, validation.IsDNS1123Subdomain},
		{"subresource", strings.ReplaceAll(r.Subresource, "_", "-"), validation.IsDNS1123Subdomain}, // metrics have underscores
	} {
		if p.text == "" || p.text == all && p.kind != "subresource" {
			continue
		}
		if problems := p.check(p.text); len(problems) > 0 {
			return fmt.Errorf("invalid %s %.100q: %s", p.kind, p.text, strings.Join(problems, "; "))
		}
	}
	return nil
}

// String returns the rule in the form that ParseRule reads.
func (r Rule) String() string {
	resources := make([]string, len(r.Resources))
	for i, resource := range r.Resources {
		resources[i] = resource.String()
	}
	text := strings.Join(r.Verbs, ",") + ":" + strings.Join(resources, ",")
	if len(r.Namespaces) > 0 {
		text += ":" + strings.Join(r.Namespaces, ",")
	}
	return text
}

// String returns the resource in the form that rules use.
func (r Resource) String() string {
	if r == (Resource{Plural: all, Group: all}) {
		return all
	}
	text := r.Plural
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	return text
}

// covers reports whether r includes the other resource.
func (r Resource) covers(other Resource) bool {
	switch {
	case r.Group != all && r.Group != other.Group:
		return false
	case r.Plural == all && r.Subresource == "":
		return true
	}
	return (r.Plural == all || r.Plural == other.Plural) && r.Subresource == other.Subresource
}

func (r Rule) covers(verb string, resource Resource) bool {
	return (slices.Contains(r.Verbs, all) || slices.Contains(r.Verbs, verb)) &&
		slices.ContainsFunc(r.Resources, func(own Resource) bool { return own.covers(resource) })
}

// effort is what it takes at most to compare a namespace with the patterns of the rule: the comparisons of bytes.
func (r Rule) effort() (effort int) {
	for _, pattern := range r.Namespaces {
		effort += len(pattern) * maxName
	}
	return effort
}
