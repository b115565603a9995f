package deployment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	questions "github.com/kopf-wasm/kopf/reactor/rights"
)

// Ask sends a question to the API server, and returns the answer.
type Ask func(ctx context.Context, path apipath.Path, body []byte) (answer []byte, err error)

// Missing asks the API server for each right that the operator needs, as the account that asks, and
// returns those that the account does not have: the verbs, the resource, and where.
//
// Errors: those of Rights, and those of asking.
func (o *Operator) Missing(ctx context.Context, ask Ask) (missing []string, err error) {
	all, err := o.rights()
	if err != nil {
		return nil, err
	}
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		for _, r := range merged(all[namespace]) {
			for _, resource := range r.resources {
				lacking, err := r.lacking(ctx, ask, namespace, resource)
				if err != nil {
					return nil, err
				}
				if len(lacking) > 0 {
					missing = append(missing, r.text(lacking, resource, namespace))
				}
			}
		}
	}
	return missing, nil
}

// lacking are the verbs of a rule that the account may not use on a resource.
func (r rule) lacking(ctx context.Context, ask Ask, namespace, resource string) (verbs []string, err error) {
	plural, subresource, _ := strings.Cut(resource, "/")
	names := r.names
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range r.verbs {
		for _, name := range names {
			right := &questions.Resource{Verb: verb, Group: r.group, Plural: plural, Subresource: subresource, Namespace: namespace, Name: name}
			allowed, err := questions.Question{Resource: right}.Ask(ctx, ask)
			if err != nil {
				return nil, fmt.Errorf("the right to %s %s: %w", verb, resource, err)
			}
			if !allowed && !slices.Contains(verbs, verb) {
				verbs = append(verbs, verb)
			}
		}
	}
	return verbs, nil
}

// text is for people: "list, watch greetings.example.com in the namespace a".
func (r rule) text(verbs []string, resource, namespace string) string {
	if r.group != "" {
		plural, subresource, ok := strings.Cut(resource, "/")
		resource = plural + "." + r.group
		if ok {
			resource += "/" + subresource
		}
	}
	if len(r.names) > 0 {
		resource += " " + strings.Join(r.names, ", ")
	}
	where := "in the whole cluster"
	if namespace != "" {
		where = "in the namespace " + namespace
	}
	return strings.Join(verbs, ", ") + " " + resource + " " + where
}
