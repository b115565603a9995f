package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/calls"
)

// Calls say which requests of guests are made, and how.
type Calls = calls.Options

// Grants are what guests may reach: nothing by default.
type Grants = calls.Grants

// Rule grants requests to the API of Kubernetes.
type Rule = calls.Rule

// Host grants requests to an HTTP server.
type Host = calls.Host

// ParseRule parses a rule that is written as VERBS:RESOURCES[:NAMESPACES], like
// get,list:pods,deployments.apps:team-*.
func ParseRule(text string) (Rule, error) { return calls.ParseRule(text) }

// ParseHost parses a host that is written as [SCHEME://]NAME[:PORT], like
// example.com or *.example.com.
func ParseHost(text string) (Host, error) { return calls.ParseHost(text) }

// Wanted is what a module declares to want.
func Wanted(module *host.Module) (Grants, error) {
	return WantedBy(module.Name(), module.Registration())
}

// WantedBy is the same of a registration that was declared, not made.
func WantedBy(name string, r *abi.Registration) (Grants, error) {
	wanted, err := calls.Wanted(r.Capabilities)
	if err != nil {
		return Grants{}, fmt.Errorf("%s wants what cannot be granted: %w", name, err)
	}
	return wanted, nil
}

// granted are the requests of the modules. They get what they want, or are refused:
// handlers that fail on all objects are worse than an operator that does not start.
func (o *Options) granted(modules []*host.Module) (Calls, error) {
	granted := o.Calls
	granted.Grants = Grants{Kubernetes: slices.Clone(o.Calls.Grants.Kubernetes), Hosts: slices.Clone(o.Calls.Grants.Hosts)}
	var problems []string
	for _, module := range modules {
		wanted, err := Wanted(module)
		if err != nil {
			return Calls{}, err
		}
		if o.GrantWanted {
			granted.Grants.Add(wanted)
		} else if missing := granted.Grants.Missing(wanted); !missing.Empty() {
			problems = append(problems, fmt.Sprintf("%s wants more than it is granted; grant it with --allow-wanted, or with %s",
				module.Name(), strings.Join(missing.Flags(), " ")))
		}
	}
	if len(problems) > 0 {
		return Calls{}, errors.New(strings.Join(problems, "; "))
	}
	return granted, nil
}
