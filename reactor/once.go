package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// completionInterval is how often it is looked whether all is done.
const completionInterval = 50 * time.Millisecond

// errCompleted ends an operator that is to run once.
var errCompleted = errors.New("all is handled")

// ErrHandlersFailed says that an operator that ran once has left failures.
var ErrHandlersFailed = errors.New("handlers have failed")

// untilCompleted ends an operator that runs once when all streams have listed what
// there is, and all of that is handled.
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
