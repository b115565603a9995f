package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newResumeCmd(stderr io.Writer, run announce) *cobra.Command {
	o := &announceOptions{}
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "End the pause that was made by freeze",
		Long: `Resume removes the record of freeze from peering objects: the one with the same id.
Every flag can also be set by a variable: --peering by KOPF_RESUME_PEERING.`,
		Example: `  kopf resume -n default --peering default
  kopf resume -A --peering default --id someone-else`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := o.announcement(cmd, args, stderr)
			if err != nil {
				return err
			}
			return run(contextOf(cmd), a) // an announcement without a lifetime removes the record
		},
	}
	o.addFlags(cmd)
	return cmd
}
