package operator

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator/scripts"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// outputLogger is the name of the logger for the standard streams of guests.
const outputLogger = "kopf.guest"

// compilingLogger is the name of the logger for the compilation of modules.
const compilingLogger = "kopf.modules"

// recordOutput logs each line that a module writes to its standard streams, or logs about no
// object, and the number of dropped lines. Streams that the options redirect are not logged.
func recordOutput(log zerolog.Logger, module string, o *host.Options) {
	log = log.With().Str(loggers.Field, outputLogger).Str("module", module).Logger()
	for stream, to := range map[string]*io.Writer{"stdout": &o.Stdout, "stderr": &o.Stderr} {
		if *to == nil {
			*to = &recorder{log.With().Str("stream", stream).Logger(), module + " (" + stream + "): "}
		}
	}
	if o.Log == nil {
		o.Log = func(level int, text string) { log.WithLevel(loggers.ZerologLevel(level)).Msg(text) }
	}
	if o.Dropped == nil {
		o.Dropped = func(lines int64) {
			log.Warn().Int64("lines", lines).Msg(fmt.Sprintf("%d lines dropped of %s: its operator writes more than LogLimit.", lines, module))
		}
	}
}

// LongCompilation is the size from which on compiling takes about a second, in bytes: see
// host.Options.Compiling. A user who waits is informed. Usually, only the engine of Python has such a size.
const LongCompilation = 3_000_000

// announceCompiling logs the compilation of a large module.
func announceCompiling(log zerolog.Logger, module string, o *host.Options) {
	if o.Compiling != nil {
		return
	}
	o.Compiling = func(size int, about time.Duration) func() {
		if size >= LongCompilation {
			log.Info().Str(loggers.Field, compilingLogger).Str("module", module).Int("size", size).Msg(CompilingText(module, about))
		}
		return func() {}
	}
}

// CompilingText is the message about the compilation of a large module, which takes about some time.
func CompilingText(module string, about time.Duration) string {
	return fmt.Sprintf("Compiling %s, once on this machine. It takes about %s.", Compiled(module), legible.Seconds(max(about, time.Second)))
}

// Compiled says what is compiled for a module: for a script, its engine.
func Compiled(module string) string {
	if scripts.Is(module) {
		return "the engine of " + module
	}
	return module
}

// recorder logs each line. A line arrives in one write.
type recorder struct {
	log zerolog.Logger

	// source begins each message. In the format plain, it alone distinguishes a line of a
	// guest from a line of the host.
	source string
}

func (r *recorder) Write(line []byte) (int, error) {
	r.log.Info().Msg(r.source + string(bytes.TrimSuffix(line, []byte("\n"))))
	return len(line), nil
}
