package objects

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/hosting/installation"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/rights"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Watches returns what the declared operators watch now, as their statuses say, as far as
// their service accounts may list and watch it. Operators that have never run are left out.
//
// It asks the cluster with the credentials of the options, which must be allowed to list the
// declarations, to create SubjectAccessReviews and, for patterns of namespaces, to list
// namespaces.
func Watches(ctx context.Context, o Options) ([]installation.Watch, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	client, err := apiserver.New(o.Config, apiserver.Limits{Time: o.Config.Timeout, Bytes: maxAnswer})
	if err != nil {
		return nil, fmt.Errorf("the credentials: %w", err)
	}
	survey := &survey{client: s.client, requests: client, namespaced: map[schema.GroupVersionResource]bool{}, known: map[schema.GroupVersion]bool{}}
	return survey.watches(ctx, s.places)
}

// survey finds out what operators watch, and what their accounts may.
type survey struct {
	client     dynamic.Interface
	requests   *apiserver.Client
	namespaced map[schema.GroupVersionResource]bool
	known      map[schema.GroupVersion]bool // that were discovered
	existing   map[string]labels.Set        // of namespaces; nil: not listed yet
}

func (s *survey) watches(ctx context.Context, places []place) ([]installation.Watch, error) {
	var all []installation.Watch
	for _, p := range places {
		var running []*api.Operator // all pages are read first: the reviews take longer than the version of a listing lives
		_, err := apiserver.List(ctx, p.of(s.client), func(object *unstructured.Unstructured) {
			if o := runningOf(object); o != nil {
				running = append(running, o)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("the resource %s.%s: %w", p.kind.Plural(), api.Group, err)
		}
		for _, o := range running {
			key := hosting.Key{Kind: p.kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
			watches, err := s.of(ctx, key, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			all = append(all, watches...)
		}
	}
	return all, nil
}

// runningOf returns a declared operator that watches something; nil for others: the host runs no invalid declaration.
func runningOf(object *unstructured.Unstructured) *api.Operator {
	text, err := object.MarshalJSON()
	if err != nil {
		return nil
	}
	if o, err := api.Decode(text); err == nil && o.Status != nil && len(o.Status.Resources) > 0 {
		return o
	}
	return nil
}

// of returns what one operator watches.
func (s *survey) of(ctx context.Context, key hosting.Key, o *api.Operator) (watches []installation.Watch, err error) {
	served, err := s.served(ctx, o)
	if err != nil {
		return nil, err
	}
	d := hosting.Declaration{Key: key, Spec: o.Spec}
	for _, name := range o.Status.Resources {
		resource, ok := resourceOf(name)
		if !ok {
			continue
		}
		namespaced, exists, err := s.scope(ctx, resource)
		if err != nil {
			return nil, err
		}
		namespaces := served
		if !namespaced {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			may, err := s.may(ctx, d.Account(), resource, namespace)
			if err != nil {
				return nil, err
			}
			if may && exists {
				watches = append(watches, installation.Watch{Namespace: namespace, Group: resource.Group, Plural: resource.Resource})
			}
		}
	}
	return watches, nil
}

// resourceOf reads the name of a resource as statuses have it: plural.version.group. It is
// false for other texts, which must not become a part of a manifest.
func resourceOf(name string) (schema.GroupVersionResource, bool) {
	plural, rest, _ := strings.Cut(name, ".")
	version, group, _ := strings.Cut(rest, ".")
	ok := len(validation.IsDNS1123Label(plural)) == 0 && len(validation.IsDNS1035Label(version)) == 0 && (group == "" || len(validation.IsDNS1123Subdomain(group)) == 0)
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, ok
}

// served returns the namespaces that an operator serves; one empty name for the cluster.
func (s *survey) served(ctx context.Context, o *api.Operator) ([]string, error) {
	switch {
	case o.Kind == api.Namespaced:
		return []string{o.Metadata.Namespace}, nil
	case o.Spec.Scope == nil || len(o.Spec.Scope.Namespaces) == 0 && o.Spec.Scope.NamespaceSelector == nil:
		return []string{""}, nil
	}
	selector := labels.Everything()
	if wanted := o.Spec.Scope.NamespaceSelector; wanted != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(wanted); err != nil {
			return nil, nil //nolint:nilerr // the host runs no invalid declaration
		}
	}
	if s.existing == nil {
		existing := map[string]labels.Set{}
		_, err := apiserver.List(ctx, s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}), func(o *unstructured.Unstructured) {
			existing[o.GetName()] = o.GetLabels()
		})
		if err != nil {
			return nil, fmt.Errorf("the namespaces: %w", err)
		}
		s.existing = existing
	}
	patterns := selectors.ParseNamespaces(o.Spec.Scope.Namespaces)
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.existing)) {
		set := s.existing[name]
		if (len(patterns) == 0 || patterns.Match(name)) && selector.Matches(set) {
			names = append(names, name)
		}
	}
	return names, nil
}

// scope reports whether a resource has namespaces, and whether it exists.
func (s *survey) scope(ctx context.Context, resource schema.GroupVersionResource) (namespaced, exists bool, err error) {
	if version := resource.GroupVersion(); !s.known[version] {
		list, err := s.discover(ctx, version)
		if err != nil {
			return false, false, fmt.Errorf("the resources of %s: %w", version, err)
		}
		s.known[version] = true
		for _, r := range list.APIResources {
			s.namespaced[version.WithResource(r.Name)] = r.Namespaced
		}
	}
	namespaced, exists = s.namespaced[resource]
	return namespaced, exists, nil
}

// maxAnswer bounds answers of the API server, in bytes: the longest are the resources of a version.
const maxAnswer = 16 << 20

// discover lists the resources of a version; none if the version does not exist.
func (s *survey) discover(ctx context.Context, version schema.GroupVersion) (*metav1.APIResourceList, error) {
	path, err := apipath.Of(apipath.Target{Group: version.Group, Version: version.Version})
	if err != nil {
		return nil, err
	}
	list := &metav1.APIResourceList{}
	if err := s.requests.Do(ctx, http.MethodGet, path, nil, list); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return list, nil
}

// may reports whether an account may list and watch a resource.
func (s *survey) may(ctx context.Context, a hosting.Account, resource schema.GroupVersionResource, namespace string) (bool, error) {
	account := &rights.Subject{User: a.String(), Groups: a.Groups()}
	for _, verb := range []string{"list", "watch"} {
		path, review, err := rights.Question{
			Subject:  account,
			Resource: &rights.Resource{Verb: verb, Group: resource.Group, Version: resource.Version, Plural: resource.Resource, Namespace: namespace},
		}.Review()
		if err != nil {
			return false, err
		}
		var answer rights.Answer
		if err := s.requests.Do(ctx, http.MethodPost, path, review, &answer); err != nil {
			return false, fmt.Errorf("the rights of %s: %w", a, err)
		}
		if !answer.Allowed() {
			return false, nil
		}
	}
	return true, nil
}
