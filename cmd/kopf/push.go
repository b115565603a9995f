package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

func newPushCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &moduleOptions{}
	var annotations, attach []string
	cmd := &cobra.Command{
		Use:   "push OPERATOR.wasm|OPERATOR.js|OPERATOR.py oci://REGISTRY/REPOSITORY:TAG",
		Short: "Put a module into a registry",
		Long: `Push packs a module as an OCI artifact, puts it into a registry, and prints the
reference with the digest. It loads the module, which must register what it declares. If the
module has no declaration, push adds one (see kopf annotate). The module may also be an artifact.
A script is packed with its engine as one module.`,
		Example: `  kopf push operator.wasm oci://ghcr.io/me/operator:v1
  kopf push operator.js oci://ghcr.io/me/operator:v1
  kopf push operator.wasm oci://localhost:5000/operator:v1 -a org.opencontainers.image.licenses=MIT
  kopf push operator.wasm oci://ghcr.io/me/operator:v1 --attach sbom.spdx.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{errors.New("name a module, and where to push it: kopf push operator.wasm oci://ghcr.io/me/operator:v1")}
			}
			to, err := parseReference(args[1])
			if err != nil {
				return err
			}
			if err := o.checkPackages(args[0]); err != nil {
				return err
			}
			extra, err := pairs("--annotation", annotations)
			if err != nil {
				return err
			}
			documents, err := readAll(attach)
			if err != nil {
				return err
			}
			config, err := o.guestConfig()
			if err != nil {
				return err
			}
			finder, err := o.finder(stderr)
			if err != nil {
				return err
			}
			defer finder.Client.Close()
			pushed, err := finder.Push(cmd.Context(), args[0], to, o.declared(args[0], config, stderr), extra, documents)
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, pushed)
			return nil
		},
	}
	o.addConfigFlags(cmd.Flags())
	o.addEngineFlag(cmd.Flags())
	o.addQuietFlag(cmd.Flags())
	o.registryOptions.addFlags(cmd.Flags())
	cmd.Flags().StringArrayVarP(&annotations, "annotation", "a", nil, "an annotation of the manifest as `KEY=VALUE` (repeatable)")
	cmd.Flags().StringArrayVar(&attach, "attach", nil, "a `file` that refers to the artifact: an SBOM (SPDX, CycloneDX), or a provenance (in-toto) (repeatable)")
	return cmd
}

// declared returns the function that packs a module, or a script with its engine, and adds the
// declaration.
func (o *moduleOptions) declared(name string, config map[string]string, stderr io.Writer) modules.Prepare {
	return func(ctx context.Context, found *modules.Found) ([]byte, map[string]string, error) {
		module, err := o.source(stderr).Pack(ctx, name, found.Module)
		if err != nil {
			return nil, nil, err
		}
		module, d, err := host.Declared(ctx, found.Name, module, o.guestOptions(found.Name, config, stderr))
		if err != nil {
			return nil, nil, err
		}
		return module, d.Annotations, nil
	}
}

// readAll reads files by name.
func readAll(paths []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, path := range paths {
		content, err := boundedfile.Read(path, modules.MaxAttachment)
		if err != nil {
			return nil, err
		}
		found[path] = content
	}
	return found, nil
}
