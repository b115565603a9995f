package operator

import (
	"bytes"
	"fmt"
	"io"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// outputLogger is the logger of what guests write to their standard streams.
const outputLogger = "kopf.guest"

// recordOutput makes records of what a module writes to its standard streams, unless the streams go elsewhere,
// and of how many lines of its output were dropped.
func recordOutput(log zerolog.Logger, module string, o *host.Options) {
	log = log.With().Str(loggers.Field, outputLogger).Str("module", module).Logger()
	for stream, to := range map[string]*io.Writer{"stdout": &o.Stdout, "stderr": &o.Stderr} {
		if *to == nil {
			*to = &recorder{log.With().Str("stream", stream).Logger(), module + " (" + stream + "): "}
		}
	}
	if o.Dropped == nil {
		o.Dropped = func(lines int64) {
			log.Warn().Int64("lines", lines).Msg(fmt.Sprintf("%d lines dropped of %s: its operator writes more than LogLimit.", lines, module))
		}
	}
}

// recorder makes a record of each line, which comes in one write.
type recorder struct {
	log zerolog.Logger

	// source begins each message: text formats show no other fields, and the format plain nothing else
	// from which a line of a guest could be told from one of the host.
	source string
}

func (r *recorder) Write(line []byte) (int, error) {
	r.log.Info().Msg(r.source + string(bytes.TrimSuffix(line, []byte("\n"))))
	return len(line), nil
}
