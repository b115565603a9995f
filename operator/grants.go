package operator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Calls say which requests the guests may make, and how the host makes them.
type Calls = calls.Options

// Grants are what guests may reach. The default is nothing.
type Grants = calls.Grants

// Rule grants requests to the Kubernetes API.
type Rule = calls.Rule

// Host grants requests to an HTTP server.
type Host = calls.Host

// ParseRule parses a rule of the form VERBS:RESOURCES[:NAMESPACES], for example
// get,list:pods,deployments.apps:team-*.
func ParseRule(text string) (Rule, error) { return calls.ParseRule(text) }

// ParseHost parses a host of the form [SCHEME://]NAME[:PORT], for example example.com or
// *.example.com.
func ParseHost(text string) (Host, error) { return calls.ParseHost(text) }

// MissingGrantsError says that a module wants more than it is granted.
type MissingGrantsError struct {
	Module  string
	Missing Grants
}

// Error names the flags of kopf run that grant the missing rights.
func (e *MissingGrantsError) Error() string {
	return fmt.Sprintf("%s wants more than it is granted; grant it with --allow-wanted, or with %s", e.Module, strings.Join(e.Missing.Flags(), " "))
}

// Wanted returns the grants that a module declares.
func Wanted(module *host.Module) (Grants, error) {
	return WantedBy(module.Name(), module.Registration())
}

// WantedBy returns the grants that a declared registration asks for, without running the
// module.
func WantedBy(name string, r *abi.Registration) (Grants, error) {
	wanted, err := calls.Wanted(r.Capabilities)
	if err != nil {
		return Grants{}, fmt.Errorf("%s wants rights that cannot be granted: %w", name, err)
	}
	return wanted, nil
}

// granted returns the grants of the modules, or an error if a module declares more than it
// may have. An operator that does not start is better than handlers that fail for every
// object.
func (o *Options) granted(modules []*host.Module) (Calls, error) {
	granted := o.Calls
	granted.Grants = Grants{Kubernetes: slices.Clone(o.Calls.Grants.Kubernetes), Hosts: slices.Clone(o.Calls.Grants.Hosts)}
	var problems []error
	for _, module := range modules {
		wanted, err := Wanted(module)
		if err != nil {
			return Calls{}, err
		}
		if o.GrantWanted {
			granted.Grants.Add(wanted)
		} else if missing := granted.Grants.Missing(wanted); !missing.Empty() {
			problems = append(problems, &MissingGrantsError{Module: module.Name(), Missing: missing})
		}
	}
	if o.CheckGrant != nil {
		for _, host := range granted.Grants.Hosts {
			problems = append(problems, o.CheckGrant(host))
		}
	}
	if err := settings.OneLine(problems...); err != nil {
		return Calls{}, err
	}
	return granted, nil
}
