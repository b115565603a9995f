package observation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	"github.com/kopf-wasm/kopf/reactor/discovery"
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

// rescans are the delays after a change of a resource definition at which discovery is
// repeated: discovery lags behind the definitions.
var rescans = []time.Duration{0, 200 * time.Millisecond, time.Second, 5 * time.Second}

// Territory selects the namespaces that an operator serves. It is safe for concurrent use.
type Territory interface {
	// Names returns the present namespaces.
	Names() []string

	// Exists reports whether a namespace exists, also if the operator does not serve it.
	Exists(name string) bool

	// Follow passes the namespaces to serve, first and after each change, until the context
	// ends. It returns the error of the context.
	Follow(ctx context.Context, serve func(names []string)) error
}

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

// ObserveResources serves the existing resources, then follows changes of their
// definitions until the context ends. It then calls ended, maybe after it has returned. The error
// is that of the first scan; it repeats later scans.
func (o *Observer) ObserveResources(ctx context.Context, ended func(error)) {
	if err := o.rescan(ctx); err != nil {
		ended(err)
		return
	}
	if !o.Scanning {
		idle(ctx, ended)
		return
	}
	changes := &changeSink{knows: o.knows, changed: make(chan struct{}, 1)}
	stream, err := o.stream(&definitions)
	if err != nil {
		ended(err)
		return
	}
	stream.Keeping = watching.Sum // any change is a reason to scan again
	var following sync.WaitGroup
	changes.follow = func() {
		following.Go(func() {
			for ended := false; !ended; ended = ctx.Err() != nil || changes.ended() {
				o.follow(ctx, changes.changed)
			}
		})
	}
	if !o.isPermitted(ctx, stream.Path, "Not enough permissions to watch for resources: "+
		"changes (creation/deletion/updates) will not be noticed; "+
		"the resources are only refreshed on operator restarts.") {
		o.poll(ctx, ended)
		return
	}
	o.supervised(ctx, stream, &definitions, changes, func(err error) {
		following.Wait()
		ended(err)
	})
}

// idle calls ended with the error of the context when that ends.
func idle(ctx context.Context, ended func(error)) {
	context.AfterFunc(ctx, func() { ended(ctx.Err()) })
}

// follow repeats discovery at the times rescans after a change, and once more after changes in
// between. The last one is repeated until it succeeds, because no further event may come.
func (o *Observer) follow(ctx context.Context, changed <-chan struct{}) {
	<-changed
	for i := 0; i < len(rescans); i++ {
		timer := time.NewTimer(rescans[i])
		select {
		case <-timer.C:
			if err := o.rescan(ctx); err != nil && ctx.Err() == nil {
				o.Log.Warn().Msg(fmt.Sprintf("Cannot discover the resources now: %v", err))
				i = min(i, len(rescans)-2)
			}
		case <-changed:
			timer.Stop()
			i = -1 // start the rescans again
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Pauses between two scans of an operator that waits for missing resources.
const (
	firstPoll = time.Second
	lastPoll  = 30 * time.Second
)

// poll repeats discovery while something cannot be served, until the context ends: an operator that may not watch the definitions
// would not learn that a missing one was created. It then calls ended.
func (o *Observer) poll(ctx context.Context, ended func(error)) {
	var polling sync.WaitGroup
	polls := false
	o.resolving.Lock()
	defer o.resolving.Unlock()
	o.lacks = func() {
		if polls || len(o.warned) == 0 || ctx.Err() != nil {
			return
		}
		polls = true
		polling.Go(func() { // Waited for below.
			pauses, more := backoffs.Doubling{First: firstPoll, Most: lastPoll}, true
			for more && backoffs.Pause(ctx, pauses.Next()) == nil {
				_ = o.rescan(ctx) // repeated
				o.resolving.Lock()
				more = len(o.warned) > 0
				polls = more
				o.resolving.Unlock()
			}
		})
	}
	o.lacks()
	context.AfterFunc(ctx, func() {
		o.resolving.Lock()   // it begins no more
		o.resolving.Unlock() //nolint:staticcheck // see above
		polling.Wait()
		ended(ctx.Err())
	})
}

// rescan discovers the resources and serves those that handlers demand.
func (o *Observer) rescan(ctx context.Context) error {
	var resources []selectors.Resource
	var partial error
	err := o.Client.Repeat(ctx, apipath.Groups, func() error {
		if resources, partial = discovery.Scan(ctx, o.Client.Discover); resources == nil {
			return partial
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.resolving.Lock()
	defer o.resolving.Unlock()
	o.Last = steady(o.Last, resources, partial)
	o.remember(o.Last)
	o.resolve(ctx, partial)
	return nil
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

// ObserveNamespaces serves the namespaces that match the patterns, and follows their
// changes until the context ends. It then calls ended, maybe after it has returned.
func (o *Observer) ObserveNamespaces(ctx context.Context, ended func(error)) {
	if o.Territory != nil {
		ended(o.Territory.Follow(ctx, func(names []string) { o.Orchestrator.serveNamespaces(ctx, append([]string{}, names...)) }))
		return
	}
	exact := append([]string{}, o.Namespaces.Exact()...)
	switch {
	case len(o.Namespaces) == 0:
		o.Orchestrator.serveNamespaces(ctx, nil)
		idle(ctx, ended)
		return
	case !o.Scanning:
		o.Orchestrator.serveNamespaces(ctx, exact)
		idle(ctx, ended)
		return
	}
	sink := &namespaceSink{observer: o, ctx: ctx, names: map[string]string{}}
	stream, err := o.stream(&Namespaces)
	if err != nil {
		ended(err)
		return
	}
	stream.Keep = func(meta watching.Meta) bool { return o.Namespaces.Match(meta.Name) }
	if !o.isPermitted(ctx, stream.Path, fmt.Sprintf("Not enough permissions to list namespaces. "+
		"Falling back to a list of namespaces which are assumed to exist: %s", strings.Join(exact, ", "))) {
		if len(exact) > 0 {
			o.Orchestrator.serveNamespaces(ctx, exact)
		}
		idle(ctx, ended)
		return
	}
	o.supervised(ctx, stream, &Namespaces, sink, ended)
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

// remember keeps the names of the resources of a scan.
func (o *Observer) remember(resources []selectors.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = discovery.Definitions(resources)
}

// knows reports whether the last scan found the resource of a definition.
func (o *Observer) knows(definition string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[definition]
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

// changeSink signals that something has changed. A listed definition counts as changed
// only if it is newer than the last scan, or was created or changed while no watch was open.
type changeSink struct {
	knows   func(definition string) bool
	changed chan struct{} // has a token after a change
	follow  func()        // starts a goroutine that takes the tokens, until ended returns true; nil in tests

	// The newest versions of all definitions that were seen, and of those before the present listing. Empty: none was seen.
	newest, before string

	mu        sync.Mutex // guards following
	following bool       // whether the goroutine exists
}

// Listed implements watching.Sink.
func (s *changeSink) Listed() { s.before = s.newest }

// Event implements watching.Sink.
func (s *changeSink) Event(event watching.Event) {
	version := event.Meta.ResourceVersion
	changed := event.Type != watching.Listed || !s.knows(event.Meta.Name) || s.before != "" && watching.IsLater(version, s.before)
	if s.newest == "" || watching.IsLater(version, s.newest) {
		s.newest = version
	}
	if event.Type != watching.Listed {
		s.before = s.newest
	}
	if !changed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.follow != nil && !s.following {
		s.following = true
		s.follow()
	}
}

// ended reports whether there is no further change. The goroutine must end then.
func (s *changeSink) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following = len(s.changed) > 0
	return !s.following
}

// namespaceSink keeps the set of namespaces that match the patterns.
type namespaceSink struct {
	observer *Observer
	ctx      context.Context   // the observer's context, because sinks get none
	names    map[string]string // their keys by name: see watching.Meta
	listed   bool
}

// Listed serves all listed namespaces. The first time, it warns of those that do not exist, as an
// operator that handles nothing would be all that a wrong name causes.
func (s *namespaceSink) Listed() {
	again := s.listed
	s.listed = true
	s.serve()
	if again {
		return
	}
	for _, name := range s.observer.Namespaces.Exact() {
		if _, exists := s.names[name]; !exists {
			s.observer.Log.Warn().Msg(fmt.Sprintf("There is no namespace %s: it is served as soon as it is created.", name))
		}
	}
}

func (s *namespaceSink) serve() {
	s.observer.Orchestrator.serveNamespaces(s.ctx, append([]string{}, slices.Sorted(maps.Keys(s.names))...))
}

// Event follows one namespace. A namespace that is being deleted stays until it is gone:
// its objects may wait for their finalizers. A deletion that the watch has missed may come
// after the creation of another namespace with the same name.
func (s *namespaceSink) Event(event watching.Event) {
	name, key := event.Meta.Name, event.Meta.Key()
	present, served := s.names[name]
	switch {
	case event.Type == watching.Deleted:
		if present == key {
			delete(s.names, name)
		}
	case s.observer.Namespaces.Match(name) && !isTerminated(event.Object):
		s.names[name] = key
	}
	if _, serves := s.names[name]; s.listed && served != serves {
		s.serve()
	}
}

// isTerminated reports whether a namespace is being deleted and has no finalizers.
func isTerminated(object []byte) bool {
	var namespace struct {
		Metadata struct {
			DeletionTimestamp *string `json:"deletionTimestamp"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(object, &namespace) != nil || namespace.Metadata.DeletionTimestamp == nil {
		return false
	}
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == "True" {
			return false
		}
	}
	return len(namespace.Status.Conditions) > 0
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
