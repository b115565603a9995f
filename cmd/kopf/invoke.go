package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/operator/documents"
	"github.com/kopf-wasm/kopf/operator/invocations"
)

// errFailed says that a handler, a scenario or a replay has failed. What has failed is printed
// already.
var errFailed = errors.New("failed")

// invokeOptions are the flags of `kopf invoke`.
type invokeOptions struct {
	moduleOptions
	settingOptions
	limitOptions
	reason, operation string
	old, answers      string
	retry             int
	params, memo      []string
	timeout, lifetime time.Duration
	output            outputFormat
	fullStacks        bool
}

func newInvokeCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &invokeOptions{}
	cmd := &cobra.Command{
		Use:   "invoke OPERATOR.wasm|OPERATOR.js|OPERATOR.py HANDLER [OBJECT.yaml]",
		Short: "Call one handler with an object from a file",
		Long: `Invoke calls one handler of a module once, without a cluster, and prints its result, its
patch, its log, its events and its requests. Requests are answered from the file of --answers;
without an answer, they fail. Time that the handler waits takes no time.

The exit code is 5 if the handler has failed.`,
		Example: `  kopf invoke operator.wasm create_fn obj.yaml
  kopf invoke operator.py update_fn obj.yaml --old before.yaml -o json
  kopf invoke operator.js create_fn obj.yaml --retry 2 --answers answers.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			if err := o.checkPackages(args[0]); err != nil {
				return err
			}
			return o.invoke(cmd.Context(), args, stdout, stderr)
		},
	}
	o.addInvokeFlags(cmd)
	return cmd
}

// reasons are the values of --reason.
var reasons = []string{"create", "update", "delete", "resume", "field", "event", "timer", "daemon", "index", "validate", "mutate"}

func (o *invokeOptions) addInvokeFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.reason, "reason", "", "call the handler for this `REASON`, if it has several: "+strings.Join(reasons, ", "))
	flags.StringVar(&o.old, "old", "", "the object before the update, from a `FILE`: the handler gets the difference")
	flags.StringVar(&o.operation, "operation", "", "the `OPERATION` of an admission handler: CREATE, UPDATE, or DELETE (default UPDATE with --old, otherwise CREATE)")
	flags.IntVar(&o.retry, "retry", 0, "the `NUMBER` of attempts before this one")
	flags.StringArrayVar(&o.params, "param", nil, "a value of the parameter of the handler, in YAML: `KEY=VALUE` (repeatable; default the parameter of the registration)")
	flags.StringArrayVar(&o.memo, "memo", nil, "a value of the memo of the object, in YAML: `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.answers, "answers", "", "answer requests of the handler from this YAML `FILE`")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "end a handler that has not ended after this `TIME`, without the time that it waits")
	flags.BoolVar(&o.fullStacks, "full-stacks", false, "show frames of SDKs in the stack of an error, too")
	flags.DurationVar(&o.lifetime, "lifetime", time.Minute, "ask a daemon to stop after this simulated `TIME`")
	o.output.addDataFlag(cmd)
	o.addSettingFlags(flags)
	o.addLimitFlag(flags)
	o.addModuleFlags(flags)
	for name, values := range map[string][]string{"reason": reasons, "operation": {"CREATE", "UPDATE", "DELETE"}} {
		completeFlag(cmd, name, values...)
	}
}

func (o *invokeOptions) check(args []string) error {
	switch {
	case len(args) == 0:
		return usageError{errors.New("name a module, a handler and a file with an object")}
	case len(args) == 1:
		return usageError{fmt.Errorf("name a handler of %s: kopf inspect shows them", args[0])}
	case len(args) > 3:
		return usageError{fmt.Errorf("%d arguments: want a module, a handler and one file with an object", len(args))}
	case o.retry < 0 || o.retry > math.MaxInt32:
		return usageError{fmt.Errorf("--retry %d: want a number of attempts, at most %d", o.retry, math.MaxInt32)}
	case o.timeout <= 0:
		return usageError{fmt.Errorf("--timeout %v: want a time, like 10s", o.timeout)}
	case o.lifetime <= 0:
		return usageError{fmt.Errorf("--lifetime %v: want a time, like 1m", o.lifetime)}
	}
	if o.reason != "" && !slices.Contains(reasons, o.reason) {
		return usageError{fmt.Errorf("--reason %q%s", o.reason, spelling.Meant(o.reason, reasons))}
	}
	if o.operation != "" && !slices.Contains([]string{"CREATE", "UPDATE", "DELETE"}, o.operation) {
		return usageError{fmt.Errorf("--operation %q: want CREATE, UPDATE or DELETE", o.operation)}
	}
	return nil
}

func (o *invokeOptions) invoke(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	call, err := o.call(args)
	if err != nil {
		return err
	}
	config, err := o.guestConfig()
	if err != nil {
		return err
	}
	options := o.guestOptions(args[0], config, stderr)
	options.FullStacks = o.fullStacks
	if err := setLimits(options.SetLimit, host.LimitNames(), o.limits); err != nil {
		return err
	}
	program := invocations.Program{Source: o.limitedSource(stderr, options), Module: args[0], Host: options, Timeout: o.timeout}
	result, err := program.Run(ctx, *call)
	var mistake invocations.UsageError
	if errors.As(err, &mistake) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if err := o.output.write(stdout, result, func() error { return result.Print(stdout) }); err != nil {
		return err
	}
	if result.Failed() {
		return errFailed
	}
	return nil
}

// call reads the files of a call.
func (o *invokeOptions) call(args []string) (call *invocations.Options, err error) {
	call = &invocations.Options{Handler: args[1], Reason: o.reason, Retry: o.retry, Operation: o.operation, Lifetime: o.lifetime}
	if len(args) > 2 {
		if call.Object, err = readObject(args[2]); err != nil {
			return nil, err
		}
	}
	if o.old != "" {
		if call.Old, err = readObject(o.old); err != nil {
			return nil, err
		}
	}
	if call.Params, err = keyValues("--param", o.params); err != nil {
		return nil, err
	}
	if call.Memo, err = keyValues("--memo", o.memo); err != nil {
		return nil, err
	}
	if call.Settings, err = operator.ReadSettings(o.settingsFiles, o.set); err != nil {
		return nil, usageError{fmt.Errorf("settings: %w", err)}
	}
	if o.answers == "" {
		return call, nil
	}
	nodes, err := readDocuments(o.answers)
	if err == nil {
		call.Answers, err = answers.Parse(nodes)
	}
	return call, err
}

// readDocuments reads a YAML file of a user.
func readDocuments(path string) ([]documents.Node, error) {
	data, err := boundedfile.Read(path, boundedfile.MaxDocument)
	if err != nil {
		return nil, err
	}
	return documents.Parse(path, data)
}

// readObject reads a file with one object.
func readObject(path string) (dicts.Object, error) {
	nodes, err := readDocuments(path)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s: no object in the file", path)
	}
	if len(nodes) > 1 {
		return nil, nodes[1].Errorf("a second object: a handler is called with one")
	}
	object, err := nodes[0].Object()
	if err == nil && dicts.LookupString(object, "kind") == "" {
		err = nodes[0].Errorf("the object has no kind")
	}
	return object, err
}

// keyValues reads the values of a repeated flag. It returns nil without any.
func keyValues(flag string, items []string) (map[string]any, error) {
	var values map[string]any
	for _, item := range items {
		key, text, err := cutPair(flag, item, "KEY=VALUE")
		if err != nil {
			return nil, err
		}
		var value any = ""
		nodes, err := documents.Parse(flag, []byte(text))
		if err == nil && len(nodes) > 0 {
			value, err = nodes[0].Value()
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("%s %q: %w", flag, item, err)}
		}
		if values == nil {
			values = map[string]any{}
		}
		values[key] = value
	}
	return values, nil
}
