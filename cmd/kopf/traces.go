package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/traces"
)

// farewell is how long the end of the command waits for a collector of traces.
const farewell = 3 * time.Second

// trace lets an operator be traced, if --traces or the environment names a collector. The returned
// function sends the last spans. A mistake in the environment, which others may set for all
// programs, is only logged.
func (o *runOptions) trace(ctx context.Context, options *operator.Options, log zerolog.Logger) (stop func(), err error) {
	stop = func() {}
	target, err := traces.TargetOf(o.traces, os.Getenv)
	switch {
	case err != nil && o.traces != "":
		return stop, usageError{err}
	case err != nil:
		log.Warn().Err(err).Str("logger", "kopf.traces").Msg("No traces are sent.")
		return stop, nil
	case target == nil:
		return stop, nil
	}
	exporter := traces.New(ctx, *target, serviceName(o.modules), version(), log)
	options.Tracer = exporter
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if err := exporter.Close(ctx); err != nil {
			log.Warn().Err(err).Str("logger", "kopf.traces").Msg("The last traces are lost.")
		}
	}, nil
}

// serviceName is the name of an operator in traces: that of its first module, without its folder,
// its version and its extension.
func serviceName(modules []string) string {
	if len(modules) == 0 || modules[0] == "-" {
		return "kopf"
	}
	name := path.Base(filepath.ToSlash(modules[0]))
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimSuffix(name, filepath.Ext(name))
}
