package reactor

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// index brings the indices in step with an object. Errors of index handlers are
// logged and ignored by default: what was indexed before stays.
//
// Kopf: kopf._core.engines.indexing.index_resource (v1.45).
func (p *processor) index(ctx context.Context, c *cycle) error {
	if len(p.handlers.indexing) == 0 {
		return nil
	}
	key := c.it.Meta.Key()
	if c.it.Type == watching.Deleted {
		c.indices.Discard(key, func(string) bool { return false })
		return nil
	}
	own := newCause(c.quietly(newPatch(nil)), nil) // the patch is not applied: index handlers change nothing
	matched, err := own.match(ctx, p.handlers.indexing)
	if err != nil {
		return err
	}
	matched = deduplicated(matched)
	state := c.memory.indexing.WithHandlers(idsOf(matched), time.Now())
	outcomes, err := p.execution(progression.AllAtOnce, modeIgnored).run(ctx, matched, own, state)
	own.patch.release(context.WithoutCancel(ctx), 0)
	if err != nil {
		return err
	}
	for id, done := range outcomes {
		storePairs(own, key, id, done)
	}
	c.indices.Discard(key, func(id string) bool { _, ok := outcomes[id]; return ok })
	if state, err = state.WithOutcomes(forState(outcomes), time.Now()); err != nil {
		return err
	}
	c.memory.indexing = state.WithoutSuccesses()
	return nil
}

// storePairs keeps the result of an index handler; none keeps what is there.
func storePairs(c *cause, key, id string, done outcome) {
	index := c.indices.Get(id)
	switch {
	case done.failed:
		index.Discard(key)
	case done.result != nil || done.keyed:
		pairs, err := indexing.ParsePairs(done.result, done.keyed)
		if err != nil {
			c.log.error(fmt.Sprintf("Indexer %s has returned what cannot be indexed: %v", quote(id), err))
			return
		}
		if err := index.Replace(key, pairs); err != nil {
			c.log.error(fmt.Sprintf("Indexer %s failed with an exception and will ignore it: %v", quote(id), err))
		}
	}
}
