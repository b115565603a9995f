package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/operator/schemas"
)

// crdOptions are the flags of `kopf crd`.
type crdOptions struct {
	schemas.Definition
	resource string
	output   outputFormat
}

func newCRDCmd(stdout io.Writer) *cobra.Command {
	o := &crdOptions{}
	cmd := &cobra.Command{
		Use:   "crd FILE.go|FILE.rs|FOLDER --resource PLURAL.VERSION.GROUP",
		Short: "Print a CustomResourceDefinition of the type of a spec",
		Long: `Crd reads the types in the source of an operator, in Go or Rust, and prints the definition of
a resource with the schema of its spec. The type is that of kopf.Typed or kopf.ChangeOf in Go,
and of Change<...> in Rust, or the one of --spec. It runs no code, and needs no cluster.

Comments become descriptions. In Go, fields are optional, and markers of kubebuilder add
rules: +required, +kubebuilder:validation:Minimum=1, +kubebuilder:default=3. In Rust, fields
are required as serde requires them.`,
		Example: `  kopf crd main.go --resource volumes.v1.example.com
  kopf crd src/lib.rs --resource volumes.v1.example.com --short-name vol | kubectl apply -f -
  kopf crd . --resource volumes.v1.example.com --spec VolumeSpec --status VolumeStatus`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name the source with the types: main.go, src/lib.rs, or a folder")}
			}
			if err := o.check(); err != nil {
				return err
			}
			return o.print(args[0], stdout)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.resource, "resource", "", "the `NAME` of the resource: PLURAL.VERSION.GROUP, like volumes.v1.example.com")
	flags.StringVar(&o.Spec, "spec", "", "the `TYPE` of the spec (default the only one of handlers)")
	flags.StringVar(&o.Status, "status", "", "the `TYPE` of the status, which may have other fields, too (default any fields)")
	flags.StringVar(&o.Kind, "kind", "", "the `KIND` of the resource (default the type of the spec, without Spec at its end)")
	flags.StringVar(&o.Singular, "singular", "", "the singular `NAME` (default the kind in lower case)")
	flags.StringArrayVar(&o.ShortNames, "short-name", nil, "a short `NAME` (repeatable)")
	flags.BoolVar(&o.ClusterScoped, "cluster-scoped", false, "objects belong to no namespace")
	o.output.name = outputYAML
	o.output.addFlag(cmd, "the `FORMAT`: yaml, or json", outputYAML, outputJSON)
	return cmd
}

// check parses the name of the resource.
func (o *crdOptions) check() error {
	named, err := schemas.ParseResource(o.resource)
	if err != nil {
		return usageError{fmt.Errorf("--resource %q: %w", o.resource, err)}
	}
	o.Plural, o.Version, o.Group = named.Plural, named.Version, named.Group
	return nil
}

func (o *crdOptions) print(path string, stdout io.Writer) error {
	types, err := schemas.Read(path)
	if err != nil {
		return err
	}
	if o.Spec == "" {
		handled := types.Handled()
		if len(handled) != 1 {
			return usageError{fmt.Errorf("%s: name the type of the spec: --spec TYPE, one of %s", path, strings.Join(types.Names(), ", "))}
		}
		o.Spec = handled[0]
	}
	definition, err := o.Object(types)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return o.output.write(stdout, definition, nil)
}
