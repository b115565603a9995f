package observation

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Orchestrator keeps one stream running for each served resource in each served namespace,
// and follows changes of both.
//
// Kopf: kopf._core.reactor.orchestration (v1.45).
type Orchestrator struct {
	// Prepare is called for each stream of a batch before any of them starts. Start runs a
	// stream until its context ends and its objects are done, and then calls ended, maybe after it
	// has returned; it does not change d.
	Prepare func(d dimensions.Dimension)
	Start   func(ctx context.Context, d *dimensions.Dimension, ended func())

	// Started is called once, when the first streams have been started.
	Started func()

	// Launched is called whenever all wanted streams have been started. It may be nil.
	Launched func()

	// Alike reports whether a resource as it was and as it is has the same handlers, which get the same objects. Nil: it does.
	Alike func(was, is selectors.Resource) bool

	mu         sync.Mutex // guards the fields below
	Resources  []selectors.Resource
	Peerings   []selectors.Resource // the resources of peering objects
	explored   bool                 // whether the resources are known
	Namespaces []string             // nil: the whole cluster
	scoped     bool                 // whether the namespaces are known
	running    map[dimensions.Key]*running
	ending     map[dimensions.Key]*running // cancelled, but still running
	streams    sync.WaitGroup
	members    sync.WaitGroup // memberships in peering objects
}

// NewOrchestrator makes an orchestrator without any streams.
func NewOrchestrator() *Orchestrator {
	return &Orchestrator{running: map[dimensions.Key]*running{}, ending: map[dimensions.Key]*running{}}
}

type running struct {
	resource selectors.Resource
	cancel   context.CancelFunc
	done     chan struct{} // closed when the stream has ended
}

// serveResources replaces the set of resources, and that of peering resources.
func (o *Orchestrator) serveResources(ctx context.Context, resources, peerings []selectors.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Resources, o.Peerings, o.explored = resources, peerings, true
	o.adjust(ctx)
}

// serveNamespaces replaces the set of namespaces; nil is the whole cluster.
func (o *Orchestrator) serveNamespaces(ctx context.Context, namespaces []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Namespaces, o.scoped = slices.Clone(namespaces), true
	o.adjust(ctx)
}

// lacks reports whether a namespace is not served any more. The empty name is the whole
// cluster.
func (o *Orchestrator) lacks(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return namespace != "" && !slices.Contains(o.Namespaces, namespace)
}

// adjust stops streams that are no longer wanted, and starts missing ones.
func (o *Orchestrator) adjust(ctx context.Context) {
	if !o.explored || !o.scoped {
		return
	}
	wanted := o.wanted()
	for key, stream := range o.running {
		if d, ok := wanted[key]; !ok || o.redefined(&d, stream.resource) {
			stream.cancel()
			delete(o.running, key)
			o.ending[key] = stream
		}
	}
	for key := range o.running {
		delete(wanted, key)
	}
	for _, d := range wanted {
		o.Prepare(d)
	}
	for _, d := range wanted {
		o.launch(ctx, &d)
	}
	o.Started()
	if o.Launched != nil {
		o.Launched()
	}
}

// redefined reports whether a resource needs a new stream because of its definition. That cancels handlers that run for long, and
// they are called again, so other changes (short names, categories, the preferred version) are no reason. In Kopf, nothing is.
func (o *Orchestrator) redefined(d *dimensions.Dimension, was selectors.Resource) bool {
	is := d.Resource
	if reflect.DeepEqual(is, was) {
		return false
	}
	return is.Kind != was.Kind || is.Namespaced != was.Namespaced || is.HasStatus() != was.HasStatus() ||
		!d.Peering && o.Alike != nil && !o.Alike(was, is)
}

// launch starts a stream after those have ended that had the same objects, maybe in another version, so that
// no object is handled twice at the same time. Memberships in peering objects do not end with the context, but
// only with Leave.
func (o *Orchestrator) launch(ctx context.Context, d *dimensions.Dimension) {
	group := &o.streams
	if d.Peering {
		group, ctx = &o.members, context.WithoutCancel(ctx)
	}
	own, cancel := context.WithCancel(ctx)
	key, stream := d.Key(), &running{d.Resource, cancel, make(chan struct{})}
	var before []*running
	for other, ending := range o.ending {
		if other.Overlaps(key) {
			before = append(before, ending)
		}
	}
	o.running[key] = stream
	group.Add(1) // Wait or Leave waits for the stream, which may outlive the goroutine.
	go func() {
		for _, ending := range before {
			<-ending.done
		}
		o.Start(own, d, func() {
			o.ended(&key, stream)
			group.Done()
		})
	}()
}

// ended forgets a stream that was cancelled before.
func (o *Orchestrator) ended(key *dimensions.Key, stream *running) {
	stream.cancel()
	close(stream.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending[*key] == stream {
		delete(o.ending, *key)
	}
}

// wanted returns the dimensions of the wanted streams. Cluster-scoped resources have one
// stream, whatever namespaces are served.
func (o *Orchestrator) wanted() map[dimensions.Key]dimensions.Dimension {
	wanted := map[dimensions.Key]dimensions.Dimension{}
	add := func(resource selectors.Resource, peering bool) {
		scopes := o.Namespaces
		if !resource.Namespaced || scopes == nil {
			scopes = []string{""}
		}
		for _, namespace := range scopes {
			d := dimensions.Dimension{Resource: resource, Namespace: namespace, Peering: peering}
			wanted[d.Key()] = d
		}
	}
	for _, resource := range o.Resources {
		add(resource, false)
	}
	for _, resource := range o.Peerings {
		add(resource, true)
	}
	return wanted
}

// Wait waits until all streams have ended. Each ends with its context.
func (o *Orchestrator) Wait() { o.streams.Wait() }

// Leave ends the memberships in all peering objects.
func (o *Orchestrator) Leave() {
	o.mu.Lock()
	for key, member := range o.running {
		if key.Peering {
			member.cancel()
		}
	}
	o.mu.Unlock()
	o.members.Wait()
}
