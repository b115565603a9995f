package processing

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// index updates the indices for the object. By default, errors of index handlers are logged
// and ignored, and the values indexed before stay. Nothing waits for the object afterwards, also after an error.
//
// Kopf: kopf._core.engines.indexing.index_resource (v1.45).
func (c *cycle) index(ctx context.Context) (err error) {
	defer panics.Recover(&err)
	if c.it.Indexed != nil {
		defer c.it.Indexed()
	}
	p := c.p
	if len(p.Handlers.Indexing) == 0 {
		return nil
	}
	key := c.it.Meta.Key()
	if c.it.Type == watching.Deleted {
		c.Indices.Discard(key)
		return nil
	}
	own := handling.NewCause(c.Quietly(patching.New(nil)), nil) // index handlers change nothing, so the patch is not applied
	matched, err := own.Match(ctx, p.Handlers.Indexing)
	if err != nil {
		return err
	}
	state := c.memory.indexing().WithHandlers(registries.IDs(matched), time.Now())
	x := p.Execution(progression.AllAtOnce, handling.ModeIgnored)
	x.Entrance = p.Runnables // all replicas fill their indices
	outcomes, err := x.Run(ctx, matched, own, state)
	defer own.Patch.Release(context.WithoutCancel(ctx), 0) // it has the memory of the results
	if err != nil {
		return err
	}
	for id, done := range outcomes {
		own.Work(ctx, done.Size, func() { storePairs(own, key, id, done) })
	}
	c.Indices.DiscardUnless(key, func(id string) bool { _, ok := outcomes[id]; return ok })
	if state, err = state.WithOutcomes(handling.ForState(outcomes), time.Now()); err != nil {
		return err
	}
	c.memory.indexed(state.WithoutSuccesses(), c.Account)
	return nil
}

// storePairs stores the result of an index handler; without a result, the indexed values
// stay.
func storePairs(c *handling.Cause, key, id string, done *handling.Outcome) {
	index := c.Indices.Get(id)
	switch {
	case done.Failed:
		index.Discard(key)
	case done.Result != nil || done.Keyed:
		pairs, err := indexing.ParsePairs(done.Result, done.Keyed)
		if err != nil {
			c.Log.Error(fmt.Sprintf("Indexer %s has returned what cannot be indexed: %v", loggers.Quote(id), err))
			return
		}
		if err := index.Replace(key, pairs); err != nil {
			c.Log.Error(fmt.Sprintf("Indexer %s failed with an exception and will ignore it: %v", loggers.Quote(id), err))
		}
	}
}
