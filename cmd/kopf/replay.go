package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator/recordings"
)

// replayOptions are the flags of `kopf replay`.
type replayOptions struct {
	moduleOptions
	limitOptions
	replaced  []string // modules
	secrets   string
	truncated bool
	output    outputFormat
}

func newReplayCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use:   "replay RECORDING",
		Short: "Repeat what kopf run --record has recorded, without a cluster",
		Long: `Replay calls the handlers of a recording again, in the same order, without a cluster: the
clock, random numbers and all answers to the module come from the recording. It shows the
first difference between what the module does and what it did. With --module, it shows what
a newer module does differently.

The exit code is 5 if there is a difference.`,
		Example: `  kopf run operator.wasm -n default --record incident.rec
  kopf replay incident.rec
  kopf replay incident.rec --module fixed.wasm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one recording")}
			}
			return o.replay(cmd.Context(), args[0], stdout, stderr)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.replaced, "module", nil, "replay with this `MODULE` in place of the recorded ones (repeatable, in their order)")
	flags.StringVar(&o.secrets, "secrets", "", "the values that the recording does not contain, by their names in a YAML `FILE`")
	flags.BoolVar(&o.truncated, "truncated", false, "replay a truncated recording up to its last line")
	o.output.addDataFlag(cmd)
	o.addLimitFlag(flags)
	o.addModuleFlags(flags)
	return cmd
}

func (o *replayOptions) replay(ctx context.Context, path string, stdout, stderr io.Writer) error {
	config, err := o.guestConfig()
	if err != nil {
		return err
	}
	secrets, err := o.readSecrets()
	if err != nil {
		return err
	}
	values := maps.Clone(config)
	maps.Copy(values, secrets)
	recording, err := o.read(path, values)
	if err != nil {
		return err
	}
	options := o.guestOptions(path, config, stderr)
	if err := setLimits(options.SetLimit, host.LimitNames(), o.limits); err != nil {
		return err
	}
	program := recordings.Program{
		Source: o.limitedSource(stderr, options), Modules: o.replaced, Host: options,
		Changed: func(module string) {
			fmt.Fprintf(stderr, "%s is not the recorded module.\n", legible.Line(module))
		},
	}
	report, err := program.Replay(ctx, recording)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := o.output.write(stdout, report, func() error { return report.Print(stdout) }); err != nil {
		return err
	}
	if report.Difference == nil {
		return nil
	}
	if missing := missingIn(values, recording); len(missing) > 0 {
		fmt.Fprintln(stderr, withoutValues(missing))
	}
	return errFailed
}

// withoutValues names values that a recording, which others may have written, does not contain.
func withoutValues(names []string) string {
	return legible.Line(fmt.Sprintf("The recording does not contain the values of %s: give them with --env, --config-file or --secrets.", strings.Join(names, ", ")))
}

// read reads the recording. The values are those that it may not contain.
func (o *replayOptions) read(path string, values map[string]string) (*recordings.File, error) {
	file, err := boundedfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	recording, err := recordings.Read(file, values)
	if errors.Is(err, recordings.ErrTruncated) && o.truncated {
		err = nil
	}
	if err != nil {
		hint := ""
		if errors.Is(err, recordings.ErrTruncated) {
			hint = " (--truncated replays what is left)"
		}
		return nil, fmt.Errorf("%s: %w%s", path, err, hint)
	}
	return recording, nil
}

// readSecrets reads the file of --secrets.
func (o *replayOptions) readSecrets() (map[string]string, error) {
	secrets := map[string]string{}
	if o.secrets == "" {
		return secrets, nil
	}
	nodes, err := readDocuments(o.secrets)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		texts, err := node.Texts()
		if err != nil {
			return nil, err
		}
		maps.Copy(secrets, texts)
	}
	return secrets, nil
}

// missingIn returns the redacted names of a recording that have no value.
func missingIn(values map[string]string, recording *recordings.File) []string {
	return slices.DeleteFunc(slices.Clone(recording.Footer.Redacted), func(name string) bool {
		_, given := values[name]
		return given
	})
}
