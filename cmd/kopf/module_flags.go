package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/packages"
	"github.com/kopf-wasm/kopf/operator/scripts"
)

// moduleOptions are the flags that say where modules come from, and how they are configured.
type moduleOptions struct {
	registryOptions
	engine, packages                 string
	pythonModules                    []string
	config, configFiles, environment []string
}

// addModuleFlags adds all of them but -m.
func (o *moduleOptions) addModuleFlags(flags *pflag.FlagSet) {
	o.addQuietFlag(flags)
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	o.registryOptions.addFlags(flags)
	o.addPullFlag(flags)
}

// addConfigFlags adds the flags for the configuration of the guests.
func (o *moduleOptions) addConfigFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.config, "config", nil, "configuration of the operator as `KEY=VALUE` (repeatable)")
	flags.StringArrayVar(&o.configFiles, "config-file", nil, "configuration of the operator from the content of a file: `KEY=PATH` (repeatable)")
	flags.StringArrayVar(&o.environment, "env", nil, "configuration of the operator from the environment variable `NAME` (repeatable)")
}

// addEngineFlag adds the flag for scripts.
func (o *moduleOptions) addEngineFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.engine, "engine", "", "run scripts by this `MODULE`, a file or an artifact (default engines/javascript.wasm or engines/python.wasm in the directory of this program, or in kopf in the user's data directory)")
	flags.StringVar(&o.packages, "packages", "", "pack these packages with scripts in Python: a `DIR` of wheels or of packages, a wheel, requirements.txt, or pyproject.toml")
}

// python says what scripts in Python import.
func (o *moduleOptions) python(note func(text string)) operator.Python {
	modules := map[string]string{}
	for _, module := range o.pythonModules {
		if path, err := operator.ModuleFile(module); err == nil {
			modules[path] = module
		}
	}
	return operator.Python{Packages: &packages.Packer{From: o.packages, Note: note}, Modules: modules}
}

// checkPackages refuses --packages without a script in Python.
func (o *moduleOptions) checkPackages(modules ...string) error {
	if o.packages == "" || slices.ContainsFunc(modules, scripts.HasPackages) {
		return nil
	}
	return usageError{errors.New("--packages is for scripts in Python, and no module is one: modules and artifacts contain what they import")}
}

// source returns the source of modules without verification.
func (o *moduleOptions) source(stderr io.Writer) operator.Source {
	return operator.Source{
		Open: o.opener(&verificationOptions{}, stderr, zerolog.Nop()), Engine: o.engine,
		Python: o.python(func(text string) { fmt.Fprintln(o.notes(stderr), text) }),
	}
}

// limitedSource is source with the limit of the packages of scripts in Python.
func (o *moduleOptions) limitedSource(stderr io.Writer, limits host.Options) operator.Source {
	source := o.source(stderr)
	source.Python.Packages.MaxSize = limits.MaxFiles
	return source
}

// load loads a module to be looked at. Warnings of its registration go to the standard error.
func (o *moduleOptions) load(ctx context.Context, name string, config map[string]string, stderr io.Writer) (*host.Module, error) {
	options := o.guestOptions(name, config, stderr)
	options.Log = func(level int, text string) {
		if level >= abi.LevelWarning {
			fmt.Fprintf(stderr, "Warning: %s\n", legible.Lines(text))
		}
	}
	loaded, err := operator.LoadFrom(ctx, o.source(stderr), []string{name}, options)
	if err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// guestConfig returns the configuration of the guests from all flags.
func (o *moduleOptions) guestConfig() (map[string]string, error) {
	config := map[string]string{}
	for _, item := range o.config {
		key, value, err := cutPair("--config", item, "KEY=VALUE")
		if err != nil {
			return nil, err
		}
		config[key] = value
	}
	for _, item := range o.configFiles {
		key, path, err := cutPair("--config-file", item, "KEY=PATH")
		if err != nil {
			return nil, err
		}
		data, err := boundedfile.Read(path, boundedfile.MaxDocument)
		if err != nil {
			return nil, fmt.Errorf("--config-file %q: %w", item, err)
		}
		config[key] = string(data)
	}
	for _, name := range o.environment {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("--env %q: there is no such variable", name)
		}
		config[name] = value
	}
	return config, nil
}

// settingOptions are the flags of settings.
type settingOptions struct {
	settingsFiles, set []string
}

func (o *settingOptions) addSettingFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.settingsFiles, "settings", nil, "settings from a YAML or JSON `FILE` (repeatable)")
	flags.StringArrayVar(&o.set, "set", nil, "a setting, which overrides files: `NAME=VALUE` (repeatable)")
}
