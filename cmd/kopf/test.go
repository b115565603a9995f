package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/operator/scenarios"
)

// testOptions are the flags of `kopf test`.
type testOptions struct {
	moduleOptions
	limitOptions
	replaced []string // modules
	pattern  string
	junit    string
	output   outputFormat
	timeout  time.Duration
	showLogs bool
}

func newTestCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &testOptions{}
	cmd := &cobra.Command{
		Use:   "test [FILE_test.yaml|FOLDER...]",
		Short: "Test an operator with scenarios, without a cluster",
		Long: `Test runs the scenarios of files: what happens in a cluster, and what the operator must do.
The operator is the one of kopf run, on a simulated cluster and a simulated clock: a week of
timers and retries takes no longer than the computing of its handlers. Without arguments, it
runs all files *_test.yaml in the current folder and below it.

The exit code is 5 if a scenario has failed. See docs/testing.md for the format of files.`,
		Example: `  kopf test
  kopf test operator_test.yaml --run renewal
  kopf test --module operator.wasm --junit report.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.timeout <= 0 {
				return usageError{fmt.Errorf("--timeout %v: want a time, like 1m", o.timeout)}
			}
			return o.test(cmd.Context(), args, stdout, stderr)
		},
	}
	o.addTestFlags(cmd)
	return cmd
}

func (o *testOptions) addTestFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.replaced, "module", nil, "test this `MODULE` in place of those that the files name (repeatable)")
	flags.StringVar(&o.pattern, "run", "", "run only scenarios whose names match this regular `EXPRESSION`")
	flags.StringVar(&o.junit, "junit", "", "write a report in the format of JUnit to this `FILE`")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "the real `TIME` that one scenario may take")
	flags.BoolVar(&o.showLogs, "logs", false, "show the log of the operators")
	o.output.addDataFlag(cmd)
	o.addLimitFlag(flags)
	o.addModuleFlags(flags)
}

// scenarioFiles is how the names of files with scenarios end.
const scenarioFiles = "_test.yaml"

func (o *testOptions) test(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	wanted, err := regexp.Compile(o.pattern)
	if err != nil {
		return usageError{fmt.Errorf("--run: %w", err)}
	}
	paths, err := findScenarios(args)
	if err != nil {
		return err
	}
	var files []*scenarios.File
	for _, path := range paths {
		file, err := scenarios.Read(path)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	runner, err := o.runner(stderr)
	if err != nil {
		return err
	}
	all, err := o.runAll(ctx, runner, files, wanted, stdout)
	if err != nil {
		return err
	}
	return o.report(all, stdout)
}

// findScenarios finds the files of the arguments.
func findScenarios(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var paths []string
	for _, arg := range args {
		before := len(paths)
		err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != arg && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case !entry.IsDir() && (path == arg || strings.HasSuffix(path, scenarioFiles)):
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(paths) == before {
			return nil, fmt.Errorf("%s: no files with scenarios: their names end with %s", arg, scenarioFiles)
		}
	}
	return paths, nil
}

func (o *testOptions) runner(stderr io.Writer) (*scenarios.Runner, error) {
	config, err := o.guestConfig()
	if err != nil {
		return nil, err
	}
	options := o.guestOptions("the module", nil, stderr)
	if !o.showLogs {
		options.Stdout, options.Stderr = io.Discard, io.Discard
	}
	if err := setLimits(options.SetLimit, host.LimitNames(), o.limits); err != nil {
		return nil, err
	}
	log := zerolog.Nop()
	if o.showLogs {
		log = logs.New(stderr, logs.Options{Format: logs.Full, Level: zerolog.DebugLevel})
	}
	return &scenarios.Runner{Source: o.limitedSource(stderr, options), Modules: o.replaced, Config: config, Host: options, Limit: o.timeout, Log: log}, nil
}

// runAll runs the wanted scenarios of all files, and prints each as soon as it has ended. A
// scenario that is stuck is the last one.
func (o *testOptions) runAll(ctx context.Context, runner *scenarios.Runner, files []*scenarios.File, wanted *regexp.Regexp, stdout io.Writer) ([]*scenarios.Outcome, error) {
	var all []*scenarios.Outcome
	for _, file := range files {
		handlers, err := runner.Check(ctx, file)
		if err != nil {
			return nil, err
		}
		for _, s := range file.Scenarios {
			if !wanted.MatchString(s.Name) {
				continue
			}
			outcome := runner.Run(ctx, file, s, handlers)
			all = append(all, outcome)
			if o.output.name == outputText {
				if err := outcome.Print(stdout); err != nil {
					return nil, err
				}
			}
			if outcome.Stuck {
				return all, nil
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--run %q matches no scenario", o.pattern)
	}
	return all, nil
}

func (o *testOptions) report(all []*scenarios.Outcome, stdout io.Writer) error {
	failed := 0
	var forms []scenarios.Form
	for _, outcome := range all {
		forms = append(forms, outcome.Form())
		if outcome.Failed() {
			failed++
		}
	}
	if o.junit != "" {
		if err := writeJUnit(o.junit, all); err != nil {
			return err
		}
	}
	err := o.output.write(stdout, forms, func() error {
		_, err := fmt.Fprintf(stdout, "%d passed, %d failed\n", len(all)-failed, failed)
		return err
	})
	if err == nil && failed > 0 {
		err = errFailed
	}
	return err
}

func writeJUnit(path string, all []*scenarios.Outcome) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(scenarios.JUnit(file, all), file.Close())
}
