package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newPushCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &registryOptions{}
	var annotations []string
	cmd := &cobra.Command{
		Use:   "push OPERATOR.wasm oci://REGISTRY/REPOSITORY:TAG",
		Short: "Put a module into a registry",
		Long: `Push packs a module as an OCI artifact, puts it into a registry, and prints the
reference with the digest. The module may also be an artifact: it is copied then.`,
		Example: `  kopf push operator.wasm oci://ghcr.io/me/operator:v1
  kopf push operator.wasm oci://localhost:5000/operator:v1 -a org.opencontainers.image.licenses=MIT`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{errors.New("name a module, and where to push it: kopf push operator.wasm oci://ghcr.io/me/operator:v1")}
			}
			to, err := parseReference(args[1])
			if err != nil {
				return err
			}
			extra, err := pairs("--annotation", annotations)
			if err != nil {
				return err
			}
			finder, err := o.finder(stderr)
			if err != nil {
				return err
			}
			defer finder.Client.Close()
			pushed, err := finder.Push(cmd.Context(), args[0], to, extra)
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, pushed)
			return nil
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringArrayVarP(&annotations, "annotation", "a", nil, "an annotation of the manifest as `KEY=VALUE` (repeatable)")
	return cmd
}

// pairs reads a repeatable flag with KEY=VALUE; nil if there are none.
func pairs(flag string, items []string) (map[string]string, error) {
	var found map[string]string
	for _, item := range items {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("%s %q: want KEY=VALUE", flag, item)}
		}
		if found == nil {
			found = map[string]string{}
		}
		found[key] = value
	}
	return found, nil
}
