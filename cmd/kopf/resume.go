package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newResumeCmd(stderr io.Writer, run announce) *cobra.Command {
	o := &announceOptions{}
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "End the pause of kopf freeze",
		Long: `Resume removes the record of kopf freeze with the same id from peering objects.
Every flag also has an environment variable: KOPF_RESUME_PEERING sets --peering.`,
		Example: `  kopf resume -n default --peering default
  kopf resume -A --peering default --id someone-else`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := o.announcement(cmd, args, stderr)
			if err != nil {
				return err
			}
			return run(cmd.Context(), a) // an announcement without a lifetime removes the record
		},
	}
	o.addFlags(cmd)
	return cmd
}
