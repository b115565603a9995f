package reactor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// index brings the indices in step with an object. Errors of index handlers are
// logged and ignored by default: what was indexed before stays.
//
// Kopf: kopf._core.engines.indexing.index_resource (v1.45).
func (p *processor) index(ctx context.Context, c *cause, it item) error {
	if len(p.handlers.indexing) == 0 {
		return nil
	}
	object := it.Meta.Key()
	if it.Type == watching.Deleted {
		p.indices.Discard(object, func(string) bool { return false })
		return nil
	}
	own := *c
	own.log = c.log.terse()
	own.patch = newPatch(nil) // not applied: index handlers change nothing
	matched, err := own.match(ctx, p.handlers.indexing)
	if err != nil {
		return err
	}
	matched = deduplicated(matched)
	x := &execution{settings: p.settings, runnables: p.runnables, completion: p.completion, lifecycle: progression.AllAtOnce, errors: modeIgnored}
	state := c.memory.indexing.WithHandlers(idsOf(matched), time.Now())
	outcomes, err := x.run(ctx, matched, &own, state)
	own.patch.release(context.WithoutCancel(ctx), 0)
	if err != nil {
		return err
	}
	for id, done := range outcomes {
		p.store(&own, object, id, done)
	}
	p.indices.Discard(object, func(id string) bool { _, ok := outcomes[id]; return ok })
	if state, err = state.WithOutcomes(forState(outcomes), time.Now()); err != nil {
		return err
	}
	c.memory.indexing = state.WithoutSuccesses()
	return nil
}

// store keeps the result of an index handler; none keeps what is there.
func (p *processor) store(c *cause, object, id string, done outcome) {
	index := p.indices.Get(id)
	switch {
	case done.failed:
		index.Discard(object)
	case done.result != nil || done.keyed:
		pairs, err := indexing.ParsePairs(done.result, done.keyed)
		if err != nil {
			c.log.error(fmt.Sprintf("Indexer %s has returned what cannot be indexed: %v", quote(id), err))
			return
		}
		if err := index.Replace(object, pairs); err != nil {
			c.log.error(fmt.Sprintf("Indexer %s failed with an exception and will ignore it: %v", quote(id), err))
		}
	}
}

// gate keeps all handlers waiting until the indices are complete: until all
// objects of all indexed resources that were there at the start have been indexed.
type gate struct {
	mu     sync.Mutex // guards count
	count  int
	open   chan struct{}
	closed chan struct{} // for ever: another gate has taken its place
	shut   func()        // closes it so
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), closed: make(chan struct{})}
	g.shut = sync.OnceFunc(func() { close(g.closed) })
	return g
}

func (g *gate) isOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// add makes the gate wait for one thing more; false if it is open already, as it
// never closes again.
func (g *gate) add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() {
		return false
	}
	g.count++
	return true
}

// done is the end of one thing. The last one opens the gate.
func (g *gate) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count <= 0 && !g.isOpen() {
		close(g.open)
	}
}

// wait waits until the gate is open, or the operator ends. It returns errReplaced if
// the gate never opens, as the handlers have been replaced.
func (g *gate) wait(ctx context.Context) error {
	if g.isOpen() {
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-g.closed:
		return errReplaced
	case <-ctx.Done():
		return ctx.Err()
	}
}
