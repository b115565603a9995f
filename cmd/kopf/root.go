package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/signatures"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// exitCode is the exit code of the process.
type exitCode int

// Exit codes, as documented in docs/cli.md.
const (
	exitOK     exitCode = 0   // finished, or stopped by a signal
	exitError  exitCode = 1   // could not start or continue
	exitUsage  exitCode = 2   // wrong command line
	exitSigned exitCode = 3   // the required signatures are missing
	exitRights exitCode = 4   // a module differs from its declaration, or wants more rights than it may have
	exitFailed exitCode = 5   // an invoked handler, a scenario or a replay has failed
	exitTools  exitCode = 6   // a tool that compiles operators is missing
	exitStuck  exitCode = 124 // the graceful exit took longer than process.ultimate_exiting_timeout
	exitForced exitCode = 130 // a second signal during the graceful exit
)

// usageError is an error in the command line.
type usageError struct{ error }

// run executes a command line, and returns the exit code.
func run(args []string, stdout, stderr io.Writer) exitCode {
	root := newRootCmd(args, stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	code := codeOf(err)
	switch code {
	case exitOK, exitForced, exitFailed: // the command has printed what has failed
	case exitUsage:
		fmt.Fprintf(stderr, "Error: %s\nTry 'kopf --help' or 'kopf COMMAND --help'.\n", legible.Lines(err.Error()))
	case exitError, exitSigned, exitRights, exitTools, exitStuck:
		fmt.Fprintf(stderr, "Error: %s\n", legible.Lines(err.Error()))
	}
	return code
}

// codeOf returns the exit code of an error. Not in the table is SIGABRT (134), by which package
// watchdog and crashes of the program end the process.
func codeOf(err error) exitCode {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errForced):
		return exitForced
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, operator.ErrExitTimeout):
		return exitStuck
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.Is(err, signatures.ErrUnverified), errors.Is(err, modules.ErrFile):
		return exitSigned
	case errors.Is(err, declaration.ErrMismatch):
		return exitRights
	case errors.As(err, new(*toolchains.MissingError)):
		return exitTools
	}
	return exitError
}

// newRootCmd creates the command for a command line. It creates all subcommands, unless the command
// line is that of run: this one starts operators, and their flags take time.
func newRootCmd(args []string, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "kopf",
		Short: "Run Kubernetes operators from WebAssembly modules",
		Long: `Kopf runs Kubernetes operators: a few functions that are called when objects
are created, updated, or deleted. The functions are compiled to WebAssembly, and
run in a sandbox.`,
		Example: `  kopf new memberships
  kopf run operator.wasm -n default
  kopf inspect operator.wasm`,
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: noEmptyArgs,

		SuggestionsMinimumDistance: 2, // number of differing letters; cobra sets its own default too late
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s", err, meantFlag(cmd, err))}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	if len(args) > 0 && args[0] == "run" {
		root.AddCommand(newRunCmd(stdout, stderr))
		return root
	}
	addGroup(root, "Write operators",
		newNewCmd(stdout),
		newDevCmd(stdout, stderr),
		newBuildCmd(stdout, stderr),
		newInvokeCmd(stdout, stderr),
		newTestCmd(stdout, stderr),
		newReplayCmd(stdout, stderr),
		newCRDCmd(stdout),
		newDoctorCmd(stdout, stderr),
	)
	addGroup(root, "Run operators",
		newRunCmd(stdout, stderr),
		newServeCmd(stdout, stderr),
		newManifestCmd(stdout, stderr),
		newFreezeCmd(stderr, operator.Announce),
		newResumeCmd(stderr, operator.Announce),
	)
	addGroup(root, "Look at operators",
		newInspectCmd(stdout, stderr),
		newExplainCmd(os.Stdin, stdout, stderr),
		newGetCmd(stdout),
		newDescribeCmd(stdout),
		newLogsCmd(stdout),
		newRetryCmd(stdout),
	)
	addGroup(root, "Keep modules",
		newAnnotateCmd(stderr),
		newPushCmd(stdout, stderr),
		newPullCmd(stdout, stderr),
		newLsCmd(stdout),
		newRmCmd(stdout),
		newSaveCmd(stderr),
		newLoadCmd(stdout, stderr),
		newSignCmd(os.Stdin, stdout, stderr),
		newVerifyCmd(stdout, stderr),
	)
	root.AddCommand(newVersionCmd(stdout))
	withoutCommand(root, newVersionCmd(stdout))
	root.SetHelpCommand(newHelpCmd(root))
	completeFlags(root, args)
	return root
}

// withoutCommand says what the program does without a command: it prints its help or its versions, and refuses unknown words.
func withoutCommand(root, versions *cobra.Command) {
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("unknown command %q%s", args[0], meant(root.SuggestionsFor(args[0])))}
		}
		return nil
	}
	asked := root.Flags().Bool("version", false, "print the versions, as kopf version does")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return versions.RunE(cmd, args)
		}
		return cmd.Help()
	}
}

// addGroup adds commands that the help lists together, sorted by their names.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}

// newHelpCmd creates the command help, which refuses unknown commands.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("unknown command %q%s", strings.Join(args, " "), meant(root.SuggestionsFor(args[0])))}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// meant returns a question about similar commands or flags, or an empty text without any.
func meant(similar []string) string {
	if len(similar) == 0 {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", strings.Join(similar, " or "))
}

// meantFlag returns a question about flags with names similar to that of an unknown one, or an empty text.
func meantFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var similar []string
	name := unknown.GetSpecifiedName()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if spelling.Distance(name, f.Name) <= len(name)/4 {
			similar = append(similar, "--"+f.Name)
		}
	})
	return meant(similar)
}
