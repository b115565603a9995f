package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/atomicfile"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

func newBuildCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &moduleOptions{}
	var output string
	cmd := &cobra.Command{
		Use:   "build [FOLDER|OPERATOR.js|OPERATOR.py]",
		Short: "Compile an operator to a module, and check it",
		Long: `Build finds the language of the current folder, or of another one, compiles the operator,
loads the module, and shows what it registers. The compiler's messages are shown unchanged.

  Go              go.mod         go
  Rust            Cargo.toml     cargo with the target wasm32-unknown-unknown or wasm32-wasip1,
                                 or Debian's packages, without a target
  AssemblyScript  package.json   npm, and the script "build" of package.json
  C               *.c            clang and wasm-ld
  JavaScript      *.js           an engine, see --engine: a script is loaded, and not compiled
  Python          *.py           an engine, see --engine: a script is loaded, and not compiled

A script becomes one module with its engine if --output names a file.

If a tool is missing, build says how to get it, and exits with 6.`,
		Example: `  kopf build
  kopf build memberships -o /tmp/memberships.wasm
  kopf build operator.py -o operator.wasm`,
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := projectOf(args)
			if err != nil {
				return err
			}
			return o.build(cmd.Context(), project, output, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", "write the module to this `FILE` (default NAME.wasm in the folder, as the folder is named)")
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	o.addQuietFlag(flags)
	return cmd
}

// completeFolder lets the shell complete folders.
func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// projectOf finds the operator in the folder that the command line names, or in the current one.
func projectOf(args []string) (*toolchains.Project, error) {
	if len(args) > 1 {
		return nil, usageError{fmt.Errorf("unexpected argument %q: name one folder", args[1])}
	}
	project, err := toolchains.Find(append(args, ".")[0])
	if errors.Is(err, toolchains.ErrNoProject) || errors.Is(err, toolchains.ErrManyScripts) {
		return nil, usageError{err}
	}
	return project, err
}

func (o *moduleOptions) build(ctx context.Context, project *toolchains.Project, output string, stdout, stderr io.Writer) error {
	config, err := o.guestConfig()
	if err != nil {
		return err
	}
	if err := o.checkPackages(project.Script); err != nil {
		return err
	}
	if output != "" {
		if info, err := os.Stat(output); err == nil && !info.Mode().IsRegular() {
			return usageError{fmt.Errorf("--output %s: it is no regular file: name the file of the module", output)}
		}
		if output, err = filepath.Abs(output); err != nil {
			return err
		}
	}
	if project.Script != "" {
		return o.buildScript(ctx, project.Script, output, config, stdout, stderr)
	}
	if output == "" {
		output = project.Output()
	}
	building, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // Build removes the unfinished module
	err = project.Build(building, output, stderr)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		return errForced
	case err != nil:
		return err
	}
	return o.checkBuilt(ctx, output, config, stdout, stderr)
}

// buildScript checks a script, and packs it with its engine if there is an output file.
func (o *moduleOptions) buildScript(ctx context.Context, script, output string, config map[string]string, stdout, stderr io.Writer) error {
	if output == "" {
		if err := o.checkBuilt(ctx, script, config, stdout, stderr); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "A script needs no build: run it by kopf run. With --output FILE, it becomes one module with its engine.")
		return nil
	}
	module, err := o.pack(ctx, script, &output, stderr)
	if err != nil {
		return err
	}
	if err := atomicfile.Output(output, 0o644, module); err != nil {
		return err
	}
	return o.checkBuilt(ctx, output, config, stdout, stderr)
}

// checkBuilt loads an operator as kopf inspect does, and prints a line about it.
func (o *moduleOptions) checkBuilt(ctx context.Context, path string, config map[string]string, stdout, stderr io.Writer) error {
	module, err := o.load(ctx, path, config, stderr)
	if err != nil {
		return err
	}
	registered := module.Registration()
	_ = module.Close(ctx) // the process is ending
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s, %s\n", cell(shortPath(path)), sizeText(info.Size()), handlersText(registered))
	return nil
}

// shortPath is a path as an author types it, below the current folder.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}

// maxListed bounds the handlers in a line.
const maxListed = 8

// handlersText counts and lists handlers: 2 handlers (create begin, delete end).
func handlersText(r *abi.Registration) string {
	var listed []string
	for _, h := range r.Handlers {
		listed = append(listed, cell(string(h.Kind)+" "+h.ID))
	}
	plural := "s"
	switch {
	case len(listed) == 0 && strings.HasPrefix(r.SDK, "go "):
		return "no handlers: an operator without them does nothing. Register them in func init: a module does not call main"
	case len(listed) == 0:
		return "no handlers: an operator without them does nothing"
	case len(listed) == 1:
		plural = ""
	}
	rest := ""
	if more := len(listed) - maxListed; more > 0 {
		listed, rest = listed[:maxListed], fmt.Sprintf(", and %d more", more)
	}
	return fmt.Sprintf("%d handler%s (%s%s)", len(r.Handlers), plural, strings.Join(listed, ", "), rest)
}
