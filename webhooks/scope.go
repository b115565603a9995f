package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Scope limits the webhooks of an operator to objects of some namespaces. Cluster-scoped
// objects are outside of each scope.
//
// # Guarantees
//
//   - The API server asks for objects of these namespaces only, whatever the handlers select.
//   - Requests about other objects are refused before a handler sees them, as any client that
//     reaches the server can send them.
type Scope struct {
	Namespaces []string // exact names

	// Territory are namespaces that change, in place of Namespaces. The configurations follow
	// them. Requests about a namespace that has left are accepted until API servers know it.
	// Nil: there are none.
	Territory Territory
}

// Territory are namespaces that change. It is safe for concurrent use.
type Territory interface {
	// Names returns the present namespaces.
	Names() []string

	// Follow passes the namespaces, first and after each change, until the context ends. It
	// returns the error of the context.
	Follow(ctx context.Context, serve func(names []string)) error
}

// names are the present namespaces.
func (s *Scope) names() []string {
	if s.Territory != nil {
		return s.Territory.Names()
	}
	return s.Namespaces
}

// namespaceSelector is the selector of namespaces in the form of the API.
func namespaceSelector(namespaces []string) dicts.Object {
	return dicts.Object{"matchExpressions": []any{dicts.Object{"key": "kubernetes.io/metadata.name", "operator": "In", "values": dicts.List(namespaces)}}}
}

// limit limits a webhook to namespaces.
func limit(webhook dicts.Object, namespaces []string) {
	webhook["namespaceSelector"] = namespaceSelector(namespaces)
	rules, _ := webhook["rules"].([]any) // describeWebhook makes them
	for _, rule := range rules {
		rule.(dicts.Object)["scope"] = "Namespaced"
	}
}

// scoped is an operator that gets no requests from outside of its scope.
type scoped struct {
	Operator
	reach *reach
}

// Handlers returns the handlers without their cluster-scoped resources.
func (o scoped) Handlers() []reviews.Handler {
	handlers := o.Operator.Handlers()
	for i := range handlers {
		handlers[i].Resources = slices.DeleteFunc(slices.Clone(handlers[i].Resources), func(r selectors.Resource) bool { return !r.Namespaced })
	}
	return handlers
}

// Review decides a request about an object of the scope.
//
// Errors: a reviews.Error for all others.
func (o scoped) Review(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
	if err := o.check(in); err != nil {
		return nil, err
	}
	return o.Operator.Review(ctx, in)
}

func (o scoped) check(in *reviews.Incoming) error {
	refuse := func(what string) error {
		return &reviews.Error{Code: http.StatusForbidden, Message: fmt.Sprintf("The operator does not serve %s.", what)}
	}
	resource, known := o.Served(selectors.Key{Group: in.Resource.Group, Version: in.Resource.Version, Plural: in.Resource.Resource})
	switch {
	case !known || !resource.Namespaced:
		return refuse(fmt.Sprintf("the resource %.100q", in.Resource.Resource))
	case in.Namespace == "" || !o.reach.covers(in.Namespace, time.Now()):
		return refuse(fmt.Sprintf("the namespace %.100q", in.Namespace))
	}
	for _, raw := range [][]byte{in.Object, in.OldObject} {
		if raw == nil {
			continue
		}
		object, err := dicts.DecodeParts(raw, isNamespace)
		if err != nil {
			return &reviews.Error{Code: http.StatusBadRequest, Message: fmt.Sprintf("The object of the admission request cannot be read: %v", err)}
		}
		if namespace := dicts.LookupString(object, "metadata", "namespace"); namespace != "" && namespace != in.Namespace {
			return refuse(fmt.Sprintf("an object of the namespace %.100q in a request for %.100q", namespace, in.Namespace))
		}
	}
	return nil
}

// isNamespace selects the only part of an object that the scope needs.
func isNamespace(parent, key string) bool {
	return parent == "" && key == "metadata" || parent == "metadata" && key == "namespace"
}

var errScopedConversion = errors.New("an operator of some namespaces converts no objects, because their definitions are of the whole cluster")

// Reserve reserves nothing, because Convert refuses.
func (scoped) Reserve(context.Context, int) (*accounts.Lease, error) { return nil, nil }

// Convert refuses.
func (scoped) Convert(context.Context, []byte, string) ([]byte, error) {
	return nil, errScopedConversion
}
