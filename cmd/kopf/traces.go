package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator/traces"
)

// farewell is how long the end of the command waits for a collector of traces.
const farewell = 3 * time.Second

// traceOptions name the collector of traces.
type traceOptions struct{ url string }

func (o *traceOptions) addFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "traces", "", "send traces of events, handlers and requests to this `URL` of a collector of OpenTelemetry, by OTLP over HTTP: http://127.0.0.1:4318 (default $OTEL_EXPORTER_OTLP_ENDPOINT; without both, nothing is traced)")
}

// exporter returns what sends spans, if --traces or the environment names a collector, or else nil.
// The returned function sends the last spans. A mistake in the environment, which others may set for
// all programs, is only logged.
func (o *traceOptions) exporter(ctx context.Context, service string, log zerolog.Logger) (exporter *traces.Exporter, stop func(), err error) {
	stop = func() {}
	target, err := traces.TargetOf(o.url, os.Getenv)
	switch {
	case err != nil && o.url != "":
		return nil, stop, usageError{err}
	case err != nil:
		log.Warn().Err(err).Str("logger", "kopf.traces").Msg("No traces are sent.")
		return nil, stop, nil
	case target == nil:
		return nil, stop, nil
	}
	exporter = traces.New(ctx, *target, service, version(), log)
	return exporter, func() {
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
	if len(modules) == 0 || modules[0] == native {
		return "kopf"
	}
	name := path.Base(filepath.ToSlash(modules[0]))
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	for _, extension := range []string{".wasm", ".js", ".py"} { // references of artifacts have dots, too
		name = strings.TrimSuffix(name, extension)
	}
	return name
}
