package deployment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Resource is a resource of a cluster.
type Resource = selectors.Resource

// Home is the namespace for an operator that serves these namespaces: the first one that is no pattern, or default.
func Home(namespaces []string) string {
	if exact := selectors.ParseNamespaces(namespaces).Exact(); len(exact) > 0 {
		return exact[0]
	}
	return "default"
}

// Operator is what manifests are made for.
type Operator struct {
	Name      string // of all objects
	Namespace string // where the operator runs

	// Namespaces are those that the operator serves: names, or patterns as in prod-*. Default: the whole cluster.
	Namespaces []string

	Registrations []*abi.Registration // of its modules
	Resources     []Resource          // that exist, or will exist

	Config map[string]string // what the operator reads by kopf.Config

	Wanted    bool   // whether requests that the modules declare are granted
	Peering   string // the name of the peering objects; empty: the operator stands alone
	Admission string // the name of the webhook configurations that the operator keeps
	Replicas  int    // how many pods run; 0 or 1: there is one pod
	Shared    bool   // whether the pods share the objects; otherwise they elect a leader
	Hosted    bool   // whether `kopf serve` runs the operator; it keeps the configurations of webhooks itself
}

// Errors of Check.
var (
	errNotWanted   = errors.New("the module declares requests, which --allow-wanted grants")
	errNoAdmission = errors.New("the module has admission handlers: name their webhook configurations by --admission-managed NAME.example.com")
)

// Problems are demands of handlers that no resource meets.
type Problems []selectors.Warning

func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i, warning := range p {
		texts[i] = warning.String()
	}
	return strings.Join(texts, "; ")
}

// check says what is missing or wrong.
func (o *Operator) check(served selectors.Served) error {
	for _, label := range [][2]string{{"name", o.Name}, {"namespace", o.Namespace}} {
		if problems := validation.IsDNS1123Label(label[1]); len(problems) > 0 {
			return fmt.Errorf("the %s %q: %s", label[0], label[1], strings.Join(problems, ", "))
		}
	}
	if len(served.Warnings) > 0 {
		return Problems(served.Warnings)
	}
	if len(served.Webhooks) > 0 && o.Admission == "" && !o.Hosted {
		return errNoAdmission
	}
	if !o.Wanted && slices.ContainsFunc(o.Registrations, wantsRequests) {
		return errNotWanted
	}
	return nil
}

func wantsRequests(r *abi.Registration) bool {
	return r.Capabilities != nil && len(r.Capabilities.Kubernetes)+len(r.Capabilities.HTTP) > 0
}

// demands are the selectors of all handlers.
func (o *Operator) demands() ([]selectors.Demand, error) {
	var demands []selectors.Demand
	for _, r := range o.Registrations {
		for i := range r.Handlers {
			h := &r.Handlers[i]
			if h.Resource == nil {
				continue
			}
			if h.Resource.Function {
				return nil, fmt.Errorf("handler %q: a function selects its resources, so its rights are unknown", h.ID)
			}
			selector, err := selectors.Parse(*h.Resource)
			if err != nil {
				return nil, fmt.Errorf("handler %q: %w", h.ID, err)
			}
			demands = append(demands, selectors.Demand{Kind: h.Kind, Selector: selector})
		}
	}
	return demands, nil
}

// metadata is that of an object; without a namespace, the object belongs to the cluster.
func (o *Operator) metadata(namespace string) dicts.Object {
	metadata := dicts.Object{"name": o.Name, "labels": o.labels()}
	if namespace == "" {
		metadata["name"] = o.clusterName()
		return metadata
	}
	metadata["namespace"] = namespace
	return metadata
}

// clusterName is unique in the cluster, unlike the name.
func (o *Operator) clusterName() string { return o.Namespace + ":" + o.Name }

func (o *Operator) labels() dicts.Object {
	return dicts.Object{"app.kubernetes.io/name": o.Name, "app.kubernetes.io/managed-by": "kopf"}
}
