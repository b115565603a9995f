package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/internal/durations"
)

func newFreezeCmd(stderr io.Writer, run announce) *cobra.Command {
	o := &announceOptions{}
	var priority, lifetime int
	var dev bool
	var message string
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Pause operators by their peering object",
		Long: `Freeze writes a record with a priority into peering objects. Operators with a lower or an
equal priority pause until the record expires, or until kopf resume with the same id removes
it. Every flag also has an environment variable: KOPF_FREEZE_PEERING sets --peering.`,
		Example: `  kopf freeze -n default --peering default --lifetime 600
  kopf freeze -A --peering default --lifetime 60 --priority 1000 --message upgrade`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := o.announcement(cmd, args, stderr)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("lifetime") {
				return usageError{errors.New("no lifetime: add --lifetime SECONDS")}
			}
			a.Priority, a.Lifetime = priority, durations.Seconds(float64(lifetime))
			if dev {
				a.Priority = devPriority
			}
			if message != "" {
				a.Log.Info().Msg("Freezing: " + message)
			}
			return run(cmd.Context(), a)
		},
	}
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&dev, "dev", false, "the priority 666")
	flags.IntVarP(&priority, "priority", "p", 100, "operators with a lower or an equal priority pause")
	flags.IntVarP(&lifetime, "lifetime", "t", 0, "pause for this number of `seconds` (required)")
	flags.StringVarP(&message, "message", "m", "", "a note for the log of this command; operators do not see it")
	return cmd
}
