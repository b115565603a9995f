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

	mu         sync.Mutex // guards all below
	resources  []selectors.Resource
	explored   bool     // the resources are known
	namespaces []string // nil: the whole cluster
	scoped     bool     // the namespaces are known
	running    map[dimensionKey]*running
	streams    sync.WaitGroup
}

// dimension is what one stream is for: a resource, in a namespace or everywhere.
type dimension struct {
	resource  selectors.Resource
	namespace string // empty: everywhere
}

type dimensionKey struct {
	resource  selectors.Key
	namespace string
}

type running struct {
	resource selectors.Resource
	cancel   context.CancelFunc
}

// serveResources replaces the set of resources.
func (o *orchestrator) serveResources(ctx context.Context, resources []selectors.Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resources, o.explored = resources, true
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
		}
	}
	for key := range o.running {
		delete(wanted, key)
	}
	for _, d := range wanted {
		o.prepare(d)
	}
	for key, d := range wanted {
		own, cancel := context.WithCancel(ctx)
		o.running[key] = &running{d.resource, cancel}
		o.streams.Add(1)
		go func() { // Waited for by orchestrator.wait.
			defer o.streams.Done()
			defer cancel()
			o.start(own, d)
		}()
	}
	o.started()
}

// wanted are the streams that there should be: cluster-wide ones for resources
// without namespaces, whatever namespaces are served.
func (o *orchestrator) wanted() map[dimensionKey]dimension {
	wanted := map[dimensionKey]dimension{}
	for _, resource := range o.resources {
		scopes := o.namespaces
		if !resource.Namespaced || scopes == nil {
			scopes = []string{""}
		}
		for _, namespace := range scopes {
			wanted[dimensionKey{resource.Key(), namespace}] = dimension{resource, namespace}
		}
	}
	return wanted
}

// wait waits until all streams have ended, which they do with their contexts.
func (o *orchestrator) wait() { o.streams.Wait() }
