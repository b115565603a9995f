package operator

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/explanation"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/peers"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Subject is the object that Explain explains: one of the cluster, or one of a file.
type Subject struct {
	// Resource, Namespace and Name are of an object in the cluster of the current context.
	// Resource is any name that selectors know: kopfexamples, kex, kopfexamples.v1.kopf.dev.
	// Default of Namespace: that of the context, or default.
	Resource, Namespace, Name string

	// Object is the object in JSON, in place of one in the cluster. No cluster is asked then.
	Object []byte

	// Resources are those that define the object of a file. Without a fitting one, the names
	// are guessed from the kind.
	Resources []selectors.Resource
}

// found is an object with what the cluster knows about it.
type found struct {
	resource selectors.Resource
	raw      []byte
	peers    []explanation.Peer
	notes    []string
}

func (s Subject) find(ctx context.Context, own *settings.Settings) (*found, error) {
	if s.Object != nil {
		return s.ofFile()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, connections, err := clients.LogIn(ctx, Logins(nil), clients.UserAgent(version(), ""), zerolog.Nop())
	if err != nil {
		return nil, err
	}
	resources, err := discovery.Scan(ctx, client.Discover)
	if resources == nil && err != nil {
		return nil, err
	}
	f := &found{}
	if f.resource, err = s.resource(resources); err != nil {
		return nil, err
	}
	namespace := ""
	if f.resource.Namespaced {
		namespace = cmp.Or(s.Namespace, contextNamespace(connections), "default")
	}
	path, err := f.resource.URL(namespace, s.Name, "")
	if err != nil {
		return nil, err
	}
	f.raw, err = client.Get(ctx, path, nil)
	if code, _ := clients.Code(err); code == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %s %q%s", ErrNoObject, f.resource, s.Name, in(namespace))
	}
	if err != nil {
		return nil, err
	}
	f.meet(ctx, client, resources, namespace, own)
	return f, nil
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in the namespace " + namespace
}

// contextNamespace is the namespace of the current context.
func contextNamespace(logins map[string]credentials.Info) string {
	best := credentials.Info{Priority: -1}
	for _, info := range logins {
		if info.Priority > best.Priority {
			best = info
		}
	}
	return best.DefaultNamespace
}

// resource selects the resource of an object in the cluster.
func (s Subject) resource(all []selectors.Resource) (selectors.Resource, error) {
	selector, err := selectors.Parse(abi.Selector{Args: []abi.Raw{abi.Raw(dicts.Encode(s.Resource))}})
	if err != nil {
		return selectors.Resource{}, err
	}
	switch selected := selector.Select(all); len(selected) {
	case 0:
		return selectors.Resource{}, fmt.Errorf("%w: the cluster has no resource %q", ErrNoObject, s.Resource)
	case 1:
		return selected[0], nil
	default:
		names := make([]string, len(selected))
		for i, r := range selected {
			names[i] = r.String()
		}
		return selectors.Resource{}, fmt.Errorf("%w: the resource %q is ambiguous: name one of %s", ErrNoObject, s.Resource, strings.Join(names, ", "))
	}
}

// ofFile finds the resource of the object of a file.
func (s Subject) ofFile() (*found, error) {
	body, err := dicts.DecodeObject(s.Object)
	if err != nil {
		return nil, err
	}
	version, kind := dicts.LookupString(body, "apiVersion"), dicts.LookupString(body, "kind")
	of, err := schema.ParseGroupVersion(version)
	if err != nil || version == "" || kind == "" {
		return nil, fmt.Errorf("the object has no valid apiVersion and kind: %q, %q", version, kind)
	}
	for _, r := range s.Resources {
		if r.Group == of.Group && r.Version == of.Version && r.Kind == kind {
			r.Preferred = true // the file chooses the version
			return &found{resource: r, raw: s.Object}, nil
		}
	}
	plural, singular := meta.UnsafeGuessKindToResource(of.WithKind(kind))
	r := selectors.Resource{
		Group: of.Group, Version: of.Version, Kind: kind, Plural: plural.Resource, Singular: singular.Resource, Preferred: true,
		Namespaced: dicts.LookupString(body, "metadata", "namespace") != "", Subresources: []string{"status"}, Verbs: []string{"list", "watch", "patch"},
	}
	note := fmt.Sprintf("The resource %s is guessed from the kind %s: name the file with its definition by --crd", r, kind)
	return &found{resource: r, raw: s.Object, notes: []string{note}}, nil
}

// meet reads the peering objects of the operator that exist.
func (f *found) meet(ctx context.Context, client *clients.Client, all []selectors.Resource, namespace string, own *settings.Settings) {
	if own.Peering.Standalone {
		return
	}
	for _, clusterwide := range []bool{true, false} {
		for _, r := range observation.PeeringResources(all, clusterwide) {
			of := namespace
			if clusterwide {
				of = ""
			}
			f.meetIn(ctx, client, r, of, own.Peering.Name)
		}
	}
}

// meetIn reads one peering object. An object that does not exist, or may not be read, has no peers.
func (f *found) meetIn(ctx context.Context, client *clients.Client, r selectors.Resource, namespace, name string) {
	path, err := r.URL(namespace, name, "")
	if err != nil {
		return
	}
	raw, err := client.Get(ctx, path, nil)
	if code, _ := clients.Code(err); code == http.StatusForbidden {
		f.notes = append(f.notes, fmt.Sprintf("The peers in %s %q are unknown: the account may not read them", r, name))
	}
	if err != nil {
		return
	}
	now := time.Now()
	known, _ := peers.ParseObject(raw, now) // what is no record of a peer is ignored, as operators do
	for _, p := range known {
		f.peers = append(f.peers, explanation.Peer{
			Object: strings.Trim(r.Plural+"."+r.Group+" "+strings.Trim(namespace+"/"+name, "/"), " "), Identity: p.Identity, Priority: p.Priority, LastSeen: p.LastSeen, Dead: p.Dead(now),
		})
	}
}
