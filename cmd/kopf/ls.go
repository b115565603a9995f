package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

func newLsCmd(stdout io.Writer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the modules that were pulled",
		Long:  `Ls lists the references in the store on this machine, with their digests.`,
		Example: `  kopf ls
  kopf ls --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			s, err := openStore()
			if err != nil {
				return err
			}
			entries, err := s.List()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(stdout, append([]store.Entry{}, entries...))
			}
			table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
			fmt.Fprint(table, "REFERENCE\tDIGEST\tSIZE\tPULLED\n")
			for _, e := range entries {
				fmt.Fprintf(table, "oci://%s\t%s\t%.1f MB\t%s\n", cell(e.Name), e.Digest, float64(e.Size)/1e6, e.Pulled.Format(time.RFC3339))
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the references as JSON")
	return cmd
}
