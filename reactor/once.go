package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// completionInterval is how often the operator checks whether all objects are handled.
const completionInterval = 50 * time.Millisecond

// errCompleted ends an operator that runs once.
var errCompleted = errors.New("all is handled")

// ErrHandlersFailed means that handlers of an operator that runs once have failed for
// good.
var ErrHandlersFailed = errors.New("handlers have failed")

// untilCompleted returns errCompleted when all streams have listed their objects, and all
// of these are handled.
func (op *Operator) untilCompleted(ctx context.Context) error {
	if op.completion == nil {
		return nil
	}
	ticker := time.NewTicker(completionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		settled, handled, failed := op.completion.State()
		if !settled {
			continue
		}
		op.Log.Info().Str(loggers.Field, "kopf.reactor").Msg(fmt.Sprintf("All is handled: %d objects.", handled))
		if failed > 0 {
			return fmt.Errorf("%w: %d", ErrHandlersFailed, failed)
		}
		return errCompleted
	}
}
