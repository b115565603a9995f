package calls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
)

// Grants are the requests that guests may make. The zero value grants nothing.
type Grants struct {
	Kubernetes []Rule
	Hosts      []Host
}

// Wanted returns the grants for all capabilities that a guest declares.
//
// Errors: a rule or a host that no grant can express.
func Wanted(c *abi.Capabilities) (Grants, error) {
	var g Grants
	if c == nil {
		return g, nil
	}
	resources, namespaces := 0, 0
	for i, wanted := range c.Kubernetes {
		rule, err := ruleOf(wanted)
		if err != nil {
			return Grants{}, fmt.Errorf("rule %d for Kubernetes: %w", i+1, err)
		}
		g.Kubernetes = append(g.Kubernetes, rule)
		resources += len(rule.Resources)
		namespaces += len(rule.Namespaces)
		if resources > maxResources || namespaces > maxNamespaces {
			return Grants{}, fmt.Errorf("the rules want more than %d resources or namespaces: * means all", maxResources)
		}
	}
	if len(c.HTTP) > maxHosts {
		return Grants{}, fmt.Errorf("%d hosts are wanted, and at most %d can be: *.example.com means all of a domain", len(c.HTTP), maxHosts)
	}
	for _, wanted := range c.HTTP {
		host, err := ParseHost(wanted)
		if err != nil {
			return Grants{}, err
		}
		g.Hosts = append(g.Hosts, host)
	}
	return g, nil
}

// Missing returns the part of other that g lacks. It ignores namespaces, because the
// administrator may narrow them.
func (g Grants) Missing(other Grants) Grants {
	var missing Grants
	for _, rule := range other.Kubernetes {
		missing.Kubernetes = append(missing.Kubernetes, g.missingOf(rule)...)
	}
	for _, host := range other.Hosts {
		if !slices.ContainsFunc(g.Hosts, func(h Host) bool { return h.covers(host) }) {
			missing.Hosts = append(missing.Hosts, host)
		}
	}
	return missing
}

// missingOf returns rules with the part of rule that g lacks. Resources that lack the same
// verbs share a rule.
func (g Grants) missingOf(rule Rule) []Rule {
	var missing []Rule
	for _, resource := range rule.Resources {
		left := slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool {
			return slices.ContainsFunc(g.Kubernetes, func(r Rule) bool { return r.covers(verb, resource) })
		})
		same := slices.IndexFunc(missing, func(r Rule) bool { return slices.Equal(r.Verbs, left) })
		switch {
		case len(left) == 0:
		case same >= 0:
			missing[same].Resources = append(missing[same].Resources, resource)
		default:
			missing = append(missing, Rule{Verbs: left, Resources: []Resource{resource}, Namespaces: rule.Namespaces})
		}
	}
	return missing
}

// Empty reports whether nothing is granted.
func (g Grants) Empty() bool { return len(g.Kubernetes)+len(g.Hosts) == 0 }

// Add adds other grants to these.
func (g *Grants) Add(other Grants) {
	g.Kubernetes = append(g.Kubernetes, other.Kubernetes...)
	g.Hosts = append(g.Hosts, other.Hosts...)
}

// Flags returns the flags of kopf run that give these grants.
func (g Grants) Flags() []string {
	var flags []string
	for _, rule := range g.Kubernetes {
		flags = append(flags, flagKubernetes+" "+quoted(rule.String()))
	}
	for _, host := range g.Hosts {
		flags = append(flags, flagHost+" "+quoted(host.String()))
	}
	return flags
}

// These flags of the command line grant requests. Messages use their names.
const (
	flagKubernetes = "--allow-kubernetes"
	flagHost       = "--allow-host"
)

// quoted quotes a word for a shell.
func quoted(word string) string {
	if strings.ContainsAny(word, "*?[ ") {
		return "'" + word + "'"
	}
	return word
}
