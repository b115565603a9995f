package reactor

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// orchestrator keeps one stream running for each served resource in each served
// namespace, while both come and go.
//
// Kopf: kopf._core.reactor.orchestration (v1.45).
type orchestrator struct {
	// start runs a stream until its context ends, and its objects are done with.
	// Before any of the streams is started, prepare is called for each of them.
	prepare func(d dimension)
	start   func(ctx context.Context, d dimension)

	// started is called once, when the first streams have been started.
	started func()

	// launched is called whenever all wanted streams have been started. May be nil.
	launched func()

	mu         sync.Mutex // guards all below
	resources  []selectors.Resource
	peerings   []selectors.Resource // where the operators meet
	explored   bool                 // the resources are known
	namespaces []string             // nil: the whole cluster
	scoped     bool                 // the namespaces are known
	running    map[dimensionKey]*running
	ending     map[dimensionKey]*running // cancelled, but not done yet
	streams    sync.WaitGroup
	members    sync.WaitGroup // in peering objects
}

func newOrchestrator() *orchestrator {
	return &orchestrator{running: map[dimensionKey]*running{}, ending: map[dimensionKey]*running{}}
}

type running struct {
	resource selectors.Resource
	cancel   context.CancelFunc
	done     chan struct{} // closed at the end
}

// serveResources replaces the set of resources, and of those of peering objects.
func (o *orchestrator) serveResources(ctx context.Context, resources, peerings []selectors.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resources, o.peerings, o.explored = resources, peerings, true
	o.adjust(ctx)
}

// serveNamespaces replaces the set of namespaces; nil is the whole cluster.
func (o *orchestrator) serveNamespaces(ctx context.Context, namespaces []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.namespaces, o.scoped = slices.Clone(namespaces), true
	o.adjust(ctx)
}

// adjust stops streams that are not wanted anymore, and starts missing ones. A
// resource whose definition has changed gets a new stream.
func (o *orchestrator) adjust(ctx context.Context) {
	if !o.explored || !o.scoped {
		return
	}
	wanted := o.wanted()
	for key, stream := range o.running {
		if d, ok := wanted[key]; !ok || !reflect.DeepEqual(d.resource, stream.resource) {
			stream.cancel()
			delete(o.running, key)
			o.ending[key] = stream
		}
	}
	for key := range o.running {
		delete(wanted, key)
	}
	for _, d := range wanted {
		o.prepare(d)
	}
	for _, d := range wanted {
		o.launch(ctx, d)
	}
	o.started()
	if o.launched != nil {
		o.launched()
	}
}

// launch starts a stream, once its predecessor has ended: no object is handled
// twice at the same time. The memberships in peering objects end with leave only,
// not with the context.
func (o *orchestrator) launch(ctx context.Context, d dimension) {
	group := &o.streams
	if d.peering {
		group, ctx = &o.members, context.WithoutCancel(ctx)
	}
	own, cancel := context.WithCancel(ctx)
	key, stream := d.key(), &running{d.resource, cancel, make(chan struct{})}
	before := o.ending[key]
	o.running[key] = stream
	group.Go(func() { // Waited for by orchestrator.wait, or by orchestrator.leave.
		defer o.ended(key, stream)
		if before != nil {
			<-before.done
		}
		o.start(own, d)
	})
}

// ended forgets a stream that was cancelled before.
func (o *orchestrator) ended(key dimensionKey, stream *running) {
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
func (o *orchestrator) wanted() map[dimensionKey]dimension {
	wanted := map[dimensionKey]dimension{}
	add := func(resource selectors.Resource, peering bool) {
		scopes := o.namespaces
		if !resource.Namespaced || scopes == nil {
			scopes = []string{""}
		}
		for _, namespace := range scopes {
			d := dimension{resource: resource, namespace: namespace, peering: peering}
			wanted[d.key()] = d
		}
	}
	for _, resource := range o.resources {
		add(resource, false)
	}
	for _, resource := range o.peerings {
		add(resource, true)
	}
	return wanted
}

// wait waits until all streams have ended, which they do with their contexts.
func (o *orchestrator) wait() { o.streams.Wait() }

// leave ends the memberships in all peering objects.
func (o *orchestrator) leave() {
	o.mu.Lock()
	for key, member := range o.running {
		if key.peering {
			member.cancel()
		}
	}
	o.mu.Unlock()
	o.members.Wait()
}
