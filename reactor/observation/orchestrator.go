package observation

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Orchestrator keeps one stream running for each served resource in each served
// namespace, while both come and go.
//
// Kopf: kopf._core.reactor.orchestration (v1.45).
type Orchestrator struct {
	// start runs a stream until its context ends, and its objects are done with.
	// Before any of the streams is started, prepare is called for each of them.
	Prepare func(d dimensions.Dimension)
	Start   func(ctx context.Context, d dimensions.Dimension)

	// Started is called once, when the first streams have been started.
	Started func()

	// Launched is called whenever all wanted streams have been started. May be nil.
	Launched func()

	mu         sync.Mutex // guards all below
	Resources  []selectors.Resource
	Peerings   []selectors.Resource // where the operators meet
	explored   bool                 // the resources are known
	Namespaces []string             // nil: the whole cluster
	scoped     bool                 // the namespaces are known
	running    map[dimensions.Key]*running
	ending     map[dimensions.Key]*running // cancelled, but not done yet
	streams    sync.WaitGroup
	members    sync.WaitGroup // in peering objects
}

func NewOrchestrator() *Orchestrator {
	return &Orchestrator{running: map[dimensions.Key]*running{}, ending: map[dimensions.Key]*running{}}
}

type running struct {
	resource selectors.Resource
	cancel   context.CancelFunc
	done     chan struct{} // closed at the end
}

// serveResources replaces the set of resources, and of those of peering objects.
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

// adjust stops streams that are not wanted anymore, and starts missing ones. A
// resource whose definition has changed gets a new stream.
func (o *Orchestrator) adjust(ctx context.Context) {
	if !o.explored || !o.scoped {
		return
	}
	wanted := o.wanted()
	for key, stream := range o.running {
		if d, ok := wanted[key]; !ok || !reflect.DeepEqual(d.Resource, stream.resource) {
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
		o.launch(ctx, d)
	}
	o.Started()
	if o.Launched != nil {
		o.Launched()
	}
}

// launch starts a stream, once its predecessor has ended: no object is handled
// twice at the same time. The memberships in peering objects end with leave only,
// not with the context.
func (o *Orchestrator) launch(ctx context.Context, d dimensions.Dimension) {
	group := &o.streams
	if d.Peering {
		group, ctx = &o.members, context.WithoutCancel(ctx)
	}
	own, cancel := context.WithCancel(ctx)
	key, stream := d.Key(), &running{d.Resource, cancel, make(chan struct{})}
	before := o.ending[key]
	o.running[key] = stream
	group.Go(func() { // Waited for by Wait, or by Leave.
		defer o.ended(key, stream)
		if before != nil {
			<-before.done
		}
		o.Start(own, d)
	})
}

// ended forgets a stream that was cancelled before.
func (o *Orchestrator) ended(key dimensions.Key, stream *running) {
	stream.cancel()
	close(stream.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending[key] == stream {
		delete(o.ending, key)
	}
}

// wanted are the streams that there should be: cluster-wide ones for resources
// without namespaces, whatever namespaces are served.
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

// Wait waits until all streams have ended, which they do with their contexts.
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
