package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/scripts"
)

func newInspectCmd(stdout, stderr io.Writer) *cobra.Command {
	var asJSON bool
	o := &moduleOptions{}
	cmd := &cobra.Command{
		Use:   "inspect OPERATOR.wasm|OPERATOR.js|OPERATOR.py|oci://REFERENCE",
		Short: "Show what a module registers",
		Long: `Inspect loads a module, asks it for its registration as kopf run does, and shows the
handlers with their options, and the imports of the module. It needs no cluster.
For an artifact, it shows the data of the registry, and runs no code.`,
		Example: `  kopf inspect operator.wasm
  kopf inspect operator.wasm --json
  kopf inspect oci://ghcr.io/me/operator:v1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one module")}
			}
			if oci.IsReference(args[0]) {
				return o.inspectArtifact(cmd.Context(), args[0], asJSON, stdout, stderr)
			}
			if err := o.checkPackages(args[0]); err != nil {
				return err
			}
			config, err := o.guestConfig()
			if err != nil {
				return err
			}
			return o.inspect(cmd.Context(), args[0], config, asJSON, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print the registration as JSON")
	o.addModuleFlags(flags)
	return cmd
}

func (o *moduleOptions) inspect(ctx context.Context, path string, config map[string]string, asJSON bool, stdout, stderr io.Writer) error {
	module, err := o.load(ctx, path, config, stderr)
	if err != nil {
		return err
	}
	defer func() { _ = module.Close(ctx) }() // the process is ending
	if asJSON {
		return printJSON(stdout, module.Registration())
	}
	return show(module, path, o.engine, stdout)
}

// guestOptions are the options of a module that is loaded to be looked at. Everything that it
// prints goes to the standard error.
func (o *registryOptions) guestOptions(name string, config map[string]string, stderr io.Writer) host.Options {
	return host.Options{
		Config: config, HostName: "kopf " + version(), Stdout: stderr, Stderr: stderr,
		Compiling: o.compiling(name, stderr),
	}
}

func show(module *host.Module, path, engine string, stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "module\t%s\n", cell(module.Name()))
	fmt.Fprintf(table, "digest\t%s\n", module.Digest())
	if scripts.Is(path) {
		engine, err := scripts.Engine(path, engine)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "flavour\tscript, run by %s\n", cell(engine))
	}
	if module.Kind() == host.KindExtism {
		fmt.Fprintf(table, "flavour\tplugin of Extism: whole messages, copied through the host; waits and requests hold an instance each\n")
	}
	showCarried(table, module.Carried())
	showFiles(table, module.Files())
	if err := showRegistration(table, module.Name(), module.Registration(), module.Imports()); err != nil {
		return err
	}
	return table.Flush()
}

// showCarried shows the configuration that is embedded in a module.
func showCarried(table io.Writer, config map[string]string) {
	for i, key := range slices.Sorted(maps.Keys(config)) {
		value := cell(config[key])
		if len(value) > maxShown {
			value = fmt.Sprintf("(%d bytes)", len(config[key])) // a script is too long for a table
		}
		fmt.Fprintf(table, "%s\t%s=%s\n", []string{"carries", ""}[min(i, 1)], cell(key), value)
	}
}

// maxShown bounds the shown part of a configuration value, in bytes.
const maxShown = 80

// showRegistration shows what a module registers or declares. The registration is untrusted.
func showRegistration(table io.Writer, name string, r *abi.Registration, imports []host.Function) error {
	fmt.Fprintf(table, "ABI\t%d\n", abi.Version)
	for _, row := range [][2]string{{"SDK", r.SDK}, {"operator", strings.TrimSpace(r.Operator.Name + " " + r.Operator.Version)}, {"lifecycle", r.Lifecycle}} {
		if row[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", row[0], cell(row[1]))
		}
	}
	wanted, err := operator.WantedBy(name, r)
	if err != nil {
		return err
	}
	for i, flag := range wanted.Flags() {
		fmt.Fprintf(table, "%s\t%s\n", []string{"wants", ""}[min(i, 1)], cell(flag))
	}
	fmt.Fprintf(table, "imports\t%s\n\nKIND\tID\tRESOURCE\tOPTIONS\n", cell(importsOf(imports)))
	for _, h := range r.Handlers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", cell(string(h.Kind)), cell(h.ID), cell(resourceOf(h)), cell(optionsOf(h)))
	}
	return nil
}

// importsOf lists the host functions that the module imports. It only counts those of WASI,
// which are similar for most modules of a language.
func importsOf(imports []host.Function) string {
	var names []string
	system := 0
	for _, f := range imports {
		switch {
		case f.Module == abi.ImportModule:
			names = append(names, f.Name)
		case strings.HasPrefix(f.Module, "extism:"):
			names = append(names, f.Module+"."+f.Name)
		default:
			system++
		}
	}
	if system > 0 {
		names = append(names, fmt.Sprintf("(and %d of WASI)", system))
	}
	return strings.Join(names, " ")
}

func resourceOf(h abi.Handler) string {
	if h.Resource == nil {
		return "-"
	}
	if args := h.Resource.Args; len(args) > 0 {
		texts := make([]string, len(args))
		for i, arg := range args {
			texts[i] = strings.Trim(string(arg), `"`)
		}
		return strings.Join(texts, "/")
	}
	text, err := json.Marshal(h.Resource)
	if err != nil {
		return "?"
	}
	return string(text)
}

// optionsOf returns the set options of a handler as JSON, without its identity.
func optionsOf(h abi.Handler) string {
	encoded, err := json.Marshal(h)
	fields := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(encoded, &fields) != nil {
		return "?"
	}
	for _, name := range []string{"kind", "id", "fn", "resource"} {
		delete(fields, name)
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return "?"
	}
	return string(text)
}
