package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator/logs"
)

// logOptions are the log flags that several commands share.
type logOptions struct {
	verbose, debug bool
	quiet          bool
	logFormat      string
	logRefKey      string
	logPrefix      bool
	noLogPrefix    bool
	fullStacks     bool
}

func (o *logOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "log debug messages")
	flags.BoolVarP(&o.debug, "debug", "d", false, "log everything")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "log warnings and errors only")
	flags.StringVar(&o.logFormat, "log-format", string(logs.Full), "plain, full, or json")
	flags.StringVar(&o.logRefKey, "log-refkey", "", "the field with the object's reference in JSON logs (default \"object\")")
	flags.BoolVar(&o.logPrefix, "log-prefix", false, "put the object's name before messages (default in plain and full)")
	flags.BoolVar(&o.noLogPrefix, "no-log-prefix", false, "do not put the object's name before messages")
}

// addStacksFlag adds --full-stacks to a command that runs operators.
func (o *logOptions) addStacksFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&o.fullStacks, "full-stacks", false, fullStacksUsage)
}

// fullStacksUsage is the help of --full-stacks.
const fullStacksUsage = "show frames of SDKs in the stacks of errors, too, as --debug does"

func (o *logOptions) logger(stderr io.Writer) (zerolog.Logger, error) {
	writer, level, err := o.writer(stderr)
	if err != nil {
		return zerolog.Nop(), err
	}
	return zerolog.New(writer).Level(level), nil
}

// writer returns what the logger writes to, and its level.
func (o *logOptions) writer(stderr io.Writer) (zerolog.LevelWriter, zerolog.Level, error) {
	format := logs.Format(strings.ToLower(o.logFormat))
	if !slices.Contains([]logs.Format{logs.Plain, logs.Full, logs.JSON}, format) {
		return nil, zerolog.NoLevel, usageError{fmt.Errorf("--log-format %q: want plain, full, or json", o.logFormat)}
	}
	options := logs.Options{Format: format, Level: zerolog.InfoLevel, RefKey: o.logRefKey}
	switch {
	case o.debug || o.verbose:
		options.Level = zerolog.DebugLevel
	case o.quiet:
		options.Level = zerolog.WarnLevel
	}
	if o.logPrefix || o.noLogPrefix {
		prefix := !o.noLogPrefix
		options.Prefix = &prefix
	}
	return logs.NewWriter(stderr, options), options.Level, nil
}

// Values of --guest-output.
const (
	outputStdout = "stdout"
	outputLog    = "log"
)

// guestStdout returns the destination of the modules' standard output. Nil means the log, as
// for their standard error.
func (o *runOptions) guestStdout(stdout io.Writer) (io.Writer, error) {
	switch o.guestOutput {
	case outputStdout:
		return stdout, nil
	case outputLog:
		return nil, nil
	}
	return nil, usageError{fmt.Errorf("invalid value %q in --guest-output: must be %s or %s", o.guestOutput, outputStdout, outputLog)}
}
