package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/packages"
)

// scriptOptions are the flags for the scripts of a directory. Declarations of a cluster name
// artifacts, which contain what their scripts need.
type scriptOptions struct{ engine, packages string }

func (o *scriptOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.engine, "engine", "", "run the scripts of the directory by this `FILE` (default engines/javascript.wasm or engines/python.wasm in the directory of this program, or in kopf in the user's data directory)")
	flags.StringVar(&o.packages, "packages", "", "pack these packages with each script in Python of the directory: a `DIR` of wheels or of packages, a wheel, requirements.txt, or pyproject.toml")
}

// checkUnused refuses the flags for declarations of a cluster.
func (o *scriptOptions) checkUnused() error {
	if o.engine != "" || o.packages != "" {
		return usageError{errors.New("--engine and --packages are about scripts of a directory, and declarations of a cluster name modules: name the directory, or push the script with its packages by kopf push")}
	}
	return nil
}

// check checks that the files exist, before anything is served.
func (o *scriptOptions) check() error {
	for _, flag := range []struct{ name, path string }{{"--engine", o.engine}, {"--packages", o.packages}} {
		if flag.path == "" {
			continue
		}
		if _, err := os.Stat(flag.path); err != nil {
			return fmt.Errorf("%s: %w", flag.name, err)
		}
	}
	return nil
}

// apply sets the options of each operator.
func (o *scriptOptions) apply(to *operator.Options, log zerolog.Logger) {
	to.Engine = o.engine
	to.Python.Packages = &packages.Packer{From: o.packages, MaxSize: to.Host.MaxFiles, Note: func(text string) {
		log.Info().Str("logger", "kopf.modules").Msg(text)
	}}
}
