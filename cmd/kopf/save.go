package main

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/internal/atomicfile"
)

func newSaveCmd(stderr io.Writer) *cobra.Command {
	o := &registryOptions{}
	var output string
	cmd := &cobra.Command{
		Use:   "save oci://REFERENCE... --output FILE",
		Short: "Write artifacts into an archive",
		Long: `Save writes artifacts, with their signatures and all other artifacts that refer to them, into a
tar of an OCI image layout, for machines without a registry. It pulls artifacts that the store lacks.`,
		Example: `  kopf save oci://ghcr.io/me/operator:v1 --output operators.tar
  kopf save oci://ghcr.io/me/a:v1 oci://ghcr.io/me/b:v1 --pull missing -o operators.tar`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || output == "" {
				return usageError{errors.New("name artifacts and a file: kopf save oci://ghcr.io/me/operator:v1 --output operators.tar")}
			}
			var refs []oci.Reference
			for _, arg := range args {
				r, err := parseReference(arg)
				if err != nil {
					return err
				}
				refs = append(refs, r)
			}
			finder, err := o.finder(stderr)
			if err != nil {
				return err
			}
			defer finder.Client.Close()
			var archive bytes.Buffer
			if err := finder.Save(cmd.Context(), &archive, refs); err != nil {
				return err
			}
			return atomicfile.Output(output, 0o644, archive.Bytes())
		},
	}
	o.addFlags(cmd.Flags())
	o.addQuietFlag(cmd.Flags())
	o.addPullFlag(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the archive to this `file` (required)")
	return cmd
}
