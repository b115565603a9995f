package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/atomicfile"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

func newAnnotateCmd(stderr io.Writer) *cobra.Command {
	o := &moduleOptions{}
	var annotations []string
	var output string
	var dynamic bool
	cmd := &cobra.Command{
		Use:   "annotate OPERATOR.wasm|OPERATOR.js|OPERATOR.py",
		Short: "Embed the registration and annotations into a module",
		Long: `Annotate loads a module, and embeds its registration and its imports into a custom section,
with annotations for the manifest. So users can read its rights before it runs, and a host
refuses the module if it then registers something else. An existing declaration is replaced.
A script becomes one module with its engine.`,
		Example: `  kopf annotate operator.wasm -a org.opencontainers.image.source=https://github.com/me/operator
  kopf annotate operator.wasm --dynamic --config watch=everything --output annotated.wasm
  kopf annotate operator.js --output operator.wasm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one module")}
			}
			if err := o.checkPackages(args[0]); err != nil {
				return err
			}
			extra, err := pairs("--annotation", annotations)
			if err != nil {
				return err
			}
			config, err := o.guestConfig()
			if err != nil {
				return err
			}
			if len(config) > 0 && !dynamic {
				return usageError{errors.New("a configuration needs --dynamic: without it, a declaration holds for all configurations")}
			}
			wasm, err := o.pack(cmd.Context(), args[0], &output, stderr)
			if err != nil {
				return err
			}
			wasm, err = host.Declare(cmd.Context(), filepath.Base(args[0]), wasm,
				o.guestOptions(args[0], config, stderr), dynamic, extra)
			if err != nil {
				return err
			}
			return atomicfile.Output(output, 0o644, wasm)
		},
	}
	flags := cmd.Flags()
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	o.addQuietFlag(flags)
	flags.StringArrayVarP(&annotations, "annotation", "a", nil, "an annotation of the manifest as `KEY=VALUE` (repeatable)")
	flags.BoolVar(&dynamic, "dynamic", false, "the registration depends on the configuration: declare the one with the most rights")
	flags.StringVarP(&output, "output", "o", "", "write to this `file` instead of the input file")
	return cmd
}

// pack reads a module, or packs a script as a module, and sets the default output file.
func (o *moduleOptions) pack(ctx context.Context, path string, output *string, stderr io.Writer) ([]byte, error) {
	data, err := boundedfile.Read(path, boundedfile.MaxModule)
	if err != nil {
		return nil, err
	}
	wasm, err := o.source(stderr).Pack(ctx, path, data)
	switch {
	case err != nil:
		return nil, err
	case *output != "":
	case !bytes.Equal(wasm, data):
		return nil, usageError{fmt.Errorf("%s is a script: name the module to be made of it: --output operator.wasm", path)}
	default:
		*output = path
	}
	return wasm, nil
}
