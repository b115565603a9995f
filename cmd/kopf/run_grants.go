package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator"
)

// grantOptions are the flags that grant access to operators.
type grantOptions struct {
	rules  []string
	hosts  []string
	wanted bool
	server bool
	proxy  bool

	settings []string
}

func (o *grantOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.rules, "allow-kubernetes", nil,
		"let the operator make these requests: `VERBS:RESOURCES[:NAMESPACES]`, like get,list:pods,jobs.batch:team-* (repeatable)")
	flags.StringArrayVar(&o.hosts, "allow-host", nil,
		"let the operator reach this `HOST`: example.com, *.example.com, http://localhost:8080 (repeatable)")
	flags.BoolVar(&o.wanted, "allow-wanted", false, "grant all requests that the operator declares; kopf inspect shows them")
	flags.BoolVar(&o.server, "allow-server", false, "let login handlers choose the API server, and how it is verified")
	flags.BoolVar(&o.proxy, "allow-proxy", false, "let login handlers choose a proxy")
	flags.StringArrayVar(&o.settings, "allow-setting", nil, "let startup handlers change this setting of the class grant: `NAME` (repeatable)")
}

// grants returns the grants of the flags.
func (o *grantOptions) grants() (operator.Grants, error) {
	var g operator.Grants
	if err := operator.CheckGrants(o.settings); err != nil {
		return g, usageError{fmt.Errorf("--allow-setting %w", err)}
	}
	for _, text := range o.rules {
		rule, err := operator.ParseRule(text)
		if err != nil {
			return g, usageError{fmt.Errorf("--allow-kubernetes %w", err)}
		}
		g.Kubernetes = append(g.Kubernetes, rule)
	}
	for _, text := range o.hosts {
		host, err := operator.ParseHost(text)
		if err != nil {
			return g, usageError{fmt.Errorf("--allow-host %w", err)}
		}
		g.Hosts = append(g.Hosts, host)
	}
	return g, nil
}
