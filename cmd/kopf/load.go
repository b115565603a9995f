package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

func newLoadCmd(stdout, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Read artifacts from an archive",
		Long: `Load checks the artifacts in an archive of kopf save, puts them into the store on this machine,
and prints their references. With --pull missing or never, they run without a registry.`,
		Example: `  kopf load operators.tar
  kopf run oci://ghcr.io/me/operator:v1 --pull never -n default`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one archive, as kopf save writes it")}
			}
			f, err := boundedfile.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			finder, err := (&registryOptions{}).finder(stderr)
			if err != nil {
				return err
			}
			entries, err := finder.LoadArchive(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, e := range entries {
				name := strings.TrimSuffix(e.Name, "@"+e.Digest) // it has the digest if it was saved by that
				fmt.Fprintf(stdout, "%s%s@%s\n", oci.Scheme, name, e.Digest)
			}
			return nil
		},
	}
	return cmd
}
