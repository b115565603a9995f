package observation

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// These resources are observed. Settings may select among their objects.
var (
	Namespaces = selectors.Resource{
		Version: "v1", Plural: "namespaces", Kind: "Namespace", Singular: "namespace", Shortcuts: []string{"ns"}, Preferred: true,
	}
	definitions = selectors.Resource{
		Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition",
		Singular: "customresourcedefinition", Shortcuts: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Preferred: true,
	}
)

// Observer finds the resources and namespaces of the cluster that the operator serves, and
// follows their changes: resources through their definitions.
//
// Kopf: kopf._core.reactor.observation (v1.45).
type Observer struct {
	Client       *clients.Client
	Orchestrator *Orchestrator
	Generations  *generations.Generations
	Pauses       *pauses.Pauses
	Peering      *settings.Peering
	Namespaces   selectors.Namespaces // patterns; empty: the whole cluster
	Territory    Territory            // in place of the patterns; nil: these
	Watching     func(selectors.Resource) func() watching.Options
	Scanning     bool                                         // whether to follow changes after the first scan
	Watches      func(d dimensions.Dimension) watching.Source // nil: each watch has a connection of its own
	Streams      *watching.Set
	Admit        func(e *generations.Generation, resources, all []selectors.Resource) // serves webhooks for the resources
	Refresh      func(ctx context.Context, e *generations.Generation)                 // shows the objects again to streams that have more handlers
	Unanswered   <-chan struct{}                                                      // has a token after a function of a resource selector has failed
	Log          zerolog.Logger

	resolving sync.Mutex           // guards Last, warned and lacks, and serialises Serve
	Last      []selectors.Resource // result of the last scan
	warned    []string             // warnings of the last scan, which are not repeated
	lacks     func()               // is called after a scan, if the definitions are not watched; else nil

	mu    sync.Mutex      // guards known
	known map[string]bool // result of the last scan, named as definitions: plural.group
}

// idle calls ended with the error of the context when that ends.
func idle(ctx context.Context, ended func(error)) {
	context.AfterFunc(ctx, func() { ended(ctx.Err()) })
}

// Resume serves the resources of the last scan that the current handlers demand.
func (o *Observer) Resume(ctx context.Context) {
	o.resolving.Lock()
	defer o.resolving.Unlock()
	o.resolve(ctx, nil)
}

func (o *Observer) resolve(ctx context.Context, partial error) {
	e := o.Generations.Hold() // functions of its guests may select resources
	defer e.Release()
	served := selectors.Resolve(o.Last, demandsOf(e.Registry))
	var warnings []string
	if partial != nil {
		warnings = append(warnings, fmt.Sprintf("Some resources cannot be discovered: %v", partial))
	}
	for _, warning := range served.Warnings {
		text := warning.String()
		warnings = append(warnings, strings.ToUpper(text[:1])+text[1:])
	}
	for _, warning := range warnings {
		if !slices.Contains(o.warned, warning) {
			o.Log.Warn().Msg(warning)
		}
	}
	o.warned = warnings
	o.Serve(ctx, served.Watched, o.Last)
	o.Admit(e, served.Webhooks, o.Last)
	o.Streams.Lack(warnings)
	if o.lacks != nil {
		o.lacks()
	}
}

// Serve serves the demanded resources, and joins the peering resources. If peering is
// mandatory, but no peering resource exists, the operator pauses.
func (o *Observer) Serve(ctx context.Context, demanded, all []selectors.Resource) {
	var peerings []selectors.Resource
	if !o.Peering.Standalone {
		peerings = PeeringResources(all, o.Peering.IsClusterwide())
	}
	missing := !o.Peering.Standalone && o.Peering.Mandatory && len(peerings) == 0
	if missing && o.Pauses.Set(pauses.Reason{}, true) {
		o.Log.Warn().Msg("The cluster has no peering resources. Waiting for them: apply peering.yaml of Kopf.")
	}
	o.Orchestrator.serveResources(ctx, demanded, peerings) // this may add reasons to pause
	if !missing {
		o.Pauses.Set(pauses.Reason{}, false)
	}
}

// isPermitted reports whether the operator may list a path. If it may not, it warns.
func (o *Observer) isPermitted(ctx context.Context, path apipath.Path, forbidden string) bool {
	_, err := o.Client.Get(ctx, path, url.Values{"limit": {"1"}})
	if code, ok := clients.Code(err); !ok || code != http.StatusForbidden {
		return true
	}
	o.Log.Warn().Msg(forbidden)
	return false
}

func (o *Observer) stream(r *selectors.Resource) (*watching.Stream, error) {
	path, err := r.URL("", "", "")
	stream := &watching.Stream{
		Client: o.Client, Path: path, APIVersion: r.APIVersion(), Kind: r.Kind, Options: o.Watching(*r), Keeping: watching.CommonIdentities,
		Log: func(level int, message string) { o.Log.WithLevel(loggers.ZerologLevel(level)).Msg(message) },
	}
	if o.Watches != nil {
		stream.Source = o.Watches(dimensions.Dimension{Resource: *r})
	}
	return stream, err
}

// supervised runs a stream of the observer itself until the context ends, and then calls ended.
func (o *Observer) supervised(ctx context.Context, stream *watching.Stream, r *selectors.Resource, sink watching.Sink, ended func(error)) {
	leave := o.Streams.Enter(ctx, entryOf(stream, r))
	stream.Start(ctx, sink, func() {
		leave()
		ended(ctx.Err())
	})
}

// entryOf is the entry of a stream among the states of all streams. It is not inlined, as its
// frame would stay on the stack.
//
//go:noinline
func entryOf(stream *watching.Stream, r *selectors.Resource) *watching.Supervised {
	return &watching.Supervised{Stream: stream, Resource: r.String(), Purpose: watching.ForScope}
}

// Gone reports whether the resource or the namespace of a stream is gone: the last scan has
// found the resource in no version, or the namespace was deleted.
func (o *Observer) Gone(d dimensions.Dimension) bool {
	return !o.knows(d.Resource.Plural+"."+d.Resource.Group) || o.Orchestrator.lacks(d.Namespace) && !o.Left(d)
}

// Left reports whether the namespace of a stream exists, but is not in the territory any more.
func (o *Observer) Left(d dimensions.Dimension) bool {
	return o.Territory != nil && o.Orchestrator.lacks(d.Namespace) && o.Territory.Exists(d.Namespace)
}

// demandsOf returns the selectors and kinds of all handlers.
func demandsOf(r *registries.Registry) []selectors.Demand {
	var demands []selectors.Demand
	for _, h := range r.ForObjects() {
		demands = append(demands, selectors.Demand{Kind: h.Spec.Kind, Selector: *h.Selector})
	}
	return demands
}

// These constants bound the pauses before failed selector functions are asked again.
const (
	minAsking = time.Second
	maxAsking = time.Minute
)

// AskAgain asks failed selector functions again, with growing pauses, and serves what they
// select. It ends with the context.
func (o *Observer) AskAgain(ctx context.Context) error {
	pauses := backoffs.Doubling{First: minAsking, Most: maxAsking}
	for {
		select {
		case <-o.Unanswered:
		case <-ctx.Done():
			return nil
		}
		if backoffs.Pause(ctx, pauses.Next()) != nil {
			return nil
		}
		e := o.Generations.Hold()
		more, failed := e.Registry.AskAgain()
		if more {
			o.Resume(ctx)
			o.Refresh(ctx, e)
		}
		e.Release()
		if !failed {
			pauses.Reset()
		}
	}
}

// peeringGroups are the groups of the peering resources, the current one first.
var peeringGroups = []string{"kopf.dev", "zalando.org"}

// PeeringResources returns the resources through which operators find their peers.
//
// Kopf: kopf._core.engines.peering.guess_selectors (v1.45).
func PeeringResources(resources []selectors.Resource, clusterwide bool) []selectors.Resource {
	plural := "kopfpeerings"
	if clusterwide {
		plural = "clusterkopfpeerings"
	}
	var found []selectors.Resource
	for _, r := range resources {
		if r.Plural == plural && r.Version == "v1" && slices.Contains(peeringGroups, r.Group) {
			found = append(found, r)
		}
	}
	return found
}
