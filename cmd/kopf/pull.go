package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/internal/atomicfile"
)

func newPullCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &registryOptions{}
	var output string
	cmd := &cobra.Command{
		Use:   "pull oci://REGISTRY/REPOSITORY:TAG",
		Short: "Get a module from a registry",
		Long: `Pull gets a module from a registry into the store on this machine, with its signatures and
all other artifacts that refer to it, checks it, and prints the reference with the digest.
It is optional: kopf run pulls modules, too.`,
		Example: `  kopf pull oci://ghcr.io/me/operator:v1
  kopf pull oci://ghcr.io/me/operator:v1 --output operator.wasm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := oneReference(args)
			if err != nil {
				return err
			}
			finder, err := o.finder(stderr)
			if err != nil {
				return err
			}
			defer finder.Client.Close()
			found, err := finder.Fetch(cmd.Context(), r)
			if err != nil {
				return err
			}
			if err := finder.Complete(cmd.Context(), found.Manifest.Reference); err != nil {
				finder.Warn(err.Error() + "; without it, the artifact cannot be verified or saved offline")
			}
			if output != "" {
				if err := atomicfile.Output(output, 0o644, found.Module); err != nil {
					return err
				}
			}
			fmt.Fprintln(stdout, found.Manifest.Reference)
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	o.addQuietFlag(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the module to this `file`, too")
	return cmd
}
