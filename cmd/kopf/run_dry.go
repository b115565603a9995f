package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator/dryrun"
)

func (o *runOptions) addDryRunFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "handle the objects of the cluster, show the requests that would change something, and send none")
	o.output.name = outputText
	o.output.addFlag(cmd, "the `FORMAT` of the requests of --dry-run: text (log records), or json (lines on the standard output)", outputText, outputJSON)
}

// checkDryRun checks the flags of a dry run, and says which others have no effect.
func (o *runOptions) checkDryRun(log zerolog.Logger) error {
	switch {
	case o.flags.Lookup("dry-run") == nil: // of another command
		return nil
	case !o.dryRun && o.flags.Changed("output"):
		return usageError{errors.New("--output belongs to --dry-run")}
	case !o.dryRun:
		return nil
	case o.output.name == outputJSON && !o.flags.Changed("guest-output"):
		o.guestOutput = outputLog // so that the standard output has nothing but the requests
	}
	log = log.With().Str("logger", dryRunLogger).Logger()
	log.Info().Msg("This is a dry run: nothing in the cluster is changed.")
	for _, name := range []string{"peering", "priority", "replicas", "admission-server", "admission-managed"} {
		if o.flags.Changed(name) {
			log.Info().Msg(fmt.Sprintf("--%s has no effect in a dry run: peers and replicas are ignored, and webhooks are not served.", name))
		}
	}
	return nil
}

// dryRunLogger is the logger of requests that are not sent.
const dryRunLogger = "kopf.dryrun"

// dryRunner returns the function that shows the requests of a dry run; nil without a dry run.
func (o *runOptions) dryRunner(stdout io.Writer, log zerolog.Logger) func(dryrun.Request) {
	switch {
	case !o.dryRun:
		return nil
	case o.output.name == outputJSON:
		return func(r dryrun.Request) {
			if text, err := json.Marshal(r); err == nil { // it consists of texts and of valid JSON
				_, _ = stdout.Write(append(legible.JSON(text), '\n')) // as with other output, a closed pipe is no error
			}
		}
	}
	log = log.With().Str("logger", dryRunLogger).Logger()
	return func(r dryrun.Request) { log.Info().Msg(legible.Line(r.String())) }
}
