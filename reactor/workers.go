package reactor

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
)

// workers bound how many handlers run at once; nil does not. Daemons are not
// counted: they would keep their places for ever.
//
// Kopf: settings.execution.max_workers (v1.45), which counts what runs in threads.
type workers chan struct{}

func newWorkers(limit int) workers {
	if limit <= 0 {
		return nil
	}
	return make(workers, limit)
}

// enter waits for a place; leave gives it back. Sub-handlers have that of their parent.
func (w workers) enter(ctx context.Context, h *Handler) (leave func(), err error) {
	if w == nil || h.Spec.Kind == abi.KindDaemon {
		return func() {}, nil
	}
	select {
	case w <- struct{}{}:
		return func() { <-w }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
