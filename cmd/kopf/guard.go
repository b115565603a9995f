package main

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/processors"
	"github.com/kopf-wasm/kopf/internal/watchdog"
)

// guard ends the process, with the stacks of its goroutines, if the process gets stuck. The
// returned function stops the guard. See docs/sandbox.md.
func guard(ctx context.Context, log zerolog.Logger) (end func()) {
	ctx, end = context.WithCancel(context.WithoutCancel(ctx)) // also while the operator stops
	go func() {                                               // Not waited for: it ends with the context.
		if err := watchdog.Run(ctx); err != nil {
			log.Debug().Str("logger", "kopf.host").Err(err).Msg("Nothing watches whether the process gets stuck.")
		}
	}()
	go processors.Adapt(ctx) // Not waited for: it ends with the context.
	return end
}
