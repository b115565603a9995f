package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// rule is a rule of a role.
type rule struct {
	group     string
	resources []string
	names     []string // of objects; empty: all
	verbs     []string
}

func (r rule) object() dicts.Object {
	object := dicts.Object{"apiGroups": []any{r.group}, "resources": dicts.List(r.resources), "verbs": dicts.List(r.verbs)}
	if len(r.names) > 0 {
		object["resourceNames"] = dicts.List(r.names)
	}
	return object
}

// rights are rules by the namespaces where they hold; those of the empty name hold in the whole cluster.
type rights map[string][]rule

func (r rights) add(namespaces []string, more ...rule) {
	for _, namespace := range namespaces {
		r[namespace] = append(r[namespace], more...)
	}
}

var wholeCluster = []string{""}

// places are the namespaces whose roles have the rights on namespaced resources. RBAC knows no patterns.
func (o *Operator) places() []string {
	exact := selectors.ParseNamespaces(o.Namespaces).Exact()
	if len(exact) == 0 || o.hasPatterns() {
		return wholeCluster
	}
	return exact
}

func (o *Operator) hasPatterns() bool {
	exact := selectors.ParseNamespaces(o.Namespaces).Exact()
	return slices.ContainsFunc(o.Namespaces, func(name string) bool { return !slices.Contains(exact, name) })
}

// Rights returns the service account of the operator, and its roles.
//
// # Errors
//
//   - Problems: handlers are for resources that are unknown or ambiguous.
//   - Others name the flag of kopf manifest that is missing, or the handler.
func (o *Operator) Rights() ([]dicts.Object, error) {
	all, err := o.rights()
	if err != nil {
		return nil, err
	}
	return append([]dicts.Object{o.account()}, o.roles(all)...), nil
}

// rights are all rights that the operator needs.
func (o *Operator) rights() (rights, error) {
	demands, err := o.demands()
	if err != nil {
		return nil, err
	}
	served := selectors.Resolve(o.Resources, demands)
	if err := o.check(served); err != nil {
		return nil, err
	}
	all := rights{}
	o.addObjects(all, served.Watched, demands)
	o.addObservation(all)
	o.addPeering(all)
	o.addAdmission(all, served.Webhooks, demands)
	o.addReplicas(all, len(served.Webhooks) > 0)
	return all, o.addWanted(all)
}

func (o *Operator) account() dicts.Object {
	return dicts.Object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": o.metadata(o.Namespace)}
}

// addObjects adds what handlers do to their objects: watches, patches, and events about them.
func (o *Operator) addObjects(all rights, watched []selectors.Resource, demands []selectors.Demand) {
	posting := map[string]bool{}
	for _, resource := range watched {
		places, events := o.places(), o.places()
		if !resource.Namespaced {
			places, events = wholeCluster, []string{"default"}
		}
		verbs := []string{"list", "watch"}
		if isChanged(resource, demands) {
			verbs = append(verbs, "get", "patch")
			if slices.Contains(resource.Subresources, "status") {
				all.add(places, rule{resource.Group, []string{resource.Plural + "/status"}, nil, []string{"patch"}})
			}
			for _, place := range events {
				posting[place] = true
			}
		}
		all.add(places, rule{resource.Group, []string{resource.Plural}, nil, verbs})
	}
	for place := range posting {
		if place == "" || !posting[""] {
			all.add([]string{place}, rule{"", []string{"events"}, nil, []string{"create"}})
		}
	}
}

// isChanged reports whether a handler may change objects of a resource. Functions of indices change nothing.
func isChanged(resource selectors.Resource, demands []selectors.Demand) bool {
	return slices.ContainsFunc(demands, func(d selectors.Demand) bool {
		return d.Kind != abi.KindIndex && d.Selector.Check(resource)
	})
}

// addObservation adds what tells the operator about new resources and namespaces.
func (o *Operator) addObservation(all rights) {
	all.add(wholeCluster, rule{"apiextensions.k8s.io", []string{"customresourcedefinitions"}, nil, []string{"list", "watch"}})
	if o.hasPatterns() {
		all.add(wholeCluster, rule{"", []string{"namespaces"}, nil, []string{"list", "watch"}})
	}
}

func (o *Operator) addPeering(all rights) {
	if o.Peering == "" {
		return
	}
	plural, places := "kopfpeerings", o.places()
	if len(o.Namespaces) == 0 {
		plural = "clusterkopfpeerings"
	}
	all.add(places, rule{"kopf.dev", []string{plural}, nil, []string{"list", "watch", "get", "patch"}})
}

// addReplicas adds what elects the leader, and what the replicas share. No rule can name an object that is to be created, and the
// names of members are random.
func (o *Operator) addReplicas(all rights, admission bool) {
	if o.Replicas <= 1 {
		return
	}
	own := []string{o.Namespace}
	if o.Shared {
		all.add(own, rule{"coordination.k8s.io", []string{"leases"}, nil, []string{"get", "list", "create", "update", "delete"}})
	} else {
		all.add(own,
			rule{"coordination.k8s.io", []string{"leases"}, nil, []string{"create"}},
			rule{"coordination.k8s.io", []string{"leases"}, []string{o.Name}, []string{"get", "update"}},
		)
	}
	if admission {
		all.add(own,
			rule{"", []string{"secrets"}, nil, []string{"create"}},
			rule{"", []string{"secrets"}, []string{o.webhookSecret()}, []string{"get", "patch"}},
		)
	}
}

// webhookSecret is the name of the certificate that the replicas share.
func (o *Operator) webhookSecret() string { return o.Name + "-webhooks" }

// addAdmission adds what handlers of webhooks need. No rule can name a configuration that is to be created.
func (o *Operator) addAdmission(all rights, reviewed []selectors.Resource, demands []selectors.Demand) {
	if len(reviewed) == 0 {
		return
	}
	for _, resource := range reviewed {
		if isHandled(resource, demands, abi.KindConvert) {
			definition := resource.Plural + "." + resource.Group
			all.add(wholeCluster, rule{"apiextensions.k8s.io", []string{"customresourcedefinitions"}, []string{definition}, []string{"get", "patch"}})
		}
		if o.Hosted {
			o.addReviews(all, resource)
		}
	}
	if o.Hosted {
		return
	}
	kinds := []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}
	all.add(wholeCluster,
		rule{"admissionregistration.k8s.io", kinds, nil, []string{"create"}},
		rule{"admissionregistration.k8s.io", kinds, []string{o.Admission}, []string{"patch"}},
	)
}

// reviewVerbs are the verbs that `kopf serve` asks for: see docs/hosting.md, "Admission".
var reviewVerbs = map[abi.Kind]string{abi.KindMutate: "mutate", abi.KindValidate: "validate"}

// addReviews adds the verbs that `kopf serve` asks for, for a resource or, if handlers name them, its subresources.
func (o *Operator) addReviews(all rights, resource selectors.Resource) {
	verbs := map[string][]string{} // by the names of resources and subresources
	for _, r := range o.Registrations {
		for i := range r.Handlers {
			h := &r.Handlers[i]
			verb := reviewVerbs[h.Kind]
			if verb == "" || h.Resource == nil {
				continue
			}
			if selector, err := selectors.Parse(*h.Resource); err != nil || !selector.Check(resource) { // demands has returned such an error
				continue
			}
			name := strings.TrimSuffix(resource.Plural+"/"+h.Subresource, "/")
			if !slices.Contains(verbs[name], verb) {
				verbs[name] = append(verbs[name], verb)
			}
		}
	}
	places := o.places()
	if !resource.Namespaced {
		places = wholeCluster
	}
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		all.add(places, rule{resource.Group, []string{name}, nil, verbs[name]})
	}
}

func isHandled(resource selectors.Resource, demands []selectors.Demand, kind abi.Kind) bool {
	return slices.ContainsFunc(demands, func(d selectors.Demand) bool { return d.Kind == kind && d.Selector.Check(resource) })
}

// addWanted adds the requests that the modules declare. Rights in namespaces with a pattern hold in the whole cluster.
//
// Errors: the host grants no such requests.
func (o *Operator) addWanted(all rights) error {
	for _, r := range o.Registrations {
		if _, err := calls.Wanted(r.Capabilities); err != nil {
			return fmt.Errorf("a module wants rights that cannot be granted: %w", err)
		}
		if r.Capabilities == nil {
			continue
		}
		for _, wanted := range r.Capabilities.Kubernetes {
			places := o.places()
			if len(wanted.Namespaces) > 0 {
				places = wanted.Namespaces
				if slices.ContainsFunc(places, isPattern) {
					places = wholeCluster
				}
			}
			verbs := wanted.Verbs
			if slices.Contains(verbs, "*") { // in a role, it would also allow to impersonate and to escalate
				verbs = calls.Verbs()
			}
			for _, group := range wanted.Groups {
				all.add(places, rule{group, wanted.Resources, nil, verbs})
			}
		}
	}
	return nil
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[!") }
