package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/oci"
)

func newRmCmd(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "rm REFERENCE|DIGEST...",
		Short: "Remove modules that were pulled",
		Long: `Rm removes references from the store on this machine, or all references to a digest, and then
all files without a reference. It prints the removed references. Registries do not change.`,
		Example: `  kopf rm oci://ghcr.io/me/operator:v1
  kopf rm sha256:1dc1e17e42d2ae5c2b1a1d2b2d5b0bb1c8c2ba3cb1d2b7d0cc5bba3de5e7a5f1`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name what to remove: a reference or a digest, as kopf ls shows them")}
			}
			s, err := openStore()
			if err != nil {
				return err
			}
			for _, arg := range args {
				gone, err := s.Remove(strings.TrimPrefix(arg, oci.Scheme))
				for _, name := range gone {
					fmt.Fprintln(stdout, oci.Scheme+name)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
