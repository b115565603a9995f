package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/cmd/kopf/internal/collector"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
)

// runOptions are the flags of `kopf run`.
type runOptions struct {
	modules     []string
	namespaces  []string
	clusterwide bool
	standalone  bool
	peering     string
	priority    int
	replicas    replicaOptions
	dev         bool
	liveness    string
	guestOutput string
	listen      string
	traces      traceOptions
	once        bool
	follow      time.Duration
	grantOptions
	dryRun    bool
	output    outputFormat
	recording recordOptions
	admission string
	managed   string
	logOptions
	moduleOptions
	settingOptions
	limitOptions
	verificationOptions
	clusterOptions

	flags *pflag.FlagSet // to know which ones are set

	develop func(context.Context, operator.Options, zerolog.Logger) error // runs the operator of kopf dev
}

func newRunCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run OPERATOR.wasm|OPERATOR.js|OPERATOR.py|oci://REFERENCE...",
		Short: "Run an operator until it is stopped",
		Long: `Run loads one or more modules as one operator: files, or artifacts of registries. It serves
the cluster of the current context of kubeconfig, or the cluster it runs in. An engine, which
is a module too, runs scripts in JavaScript or Python: see --engine.

The first SIGINT or SIGTERM stops the operator gracefully, the second one by force. Every
flag also has an environment variable: KOPF_RUN_LOG_FORMAT sets --log-format.

Instead of modules, - means the native program that has started the command, for
breakpoints: see "kopf.Main" and "run_natively" of the SDKs.`,
		Example: `  kopf run operator.wasm -n default
  kopf run operator.wasm -A --verbose --config greeting=hello
  kopf run operator.js -n default
  kopf run operator.py -n default
  kopf run oci://ghcr.io/me/operator:v1 -n default -k cosign.pub`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			o.modules = args
			return o.run(cmd.Context(), stdout, stderr)
		},
	}
	o.addFlags(cmd)
	group(cmd, runGroups)
	return cmd
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.addOperatorFlags(flags)
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "serve this `namespace`, or a pattern: prod-*,!prod-x (repeatable)")
	flags.StringArrayVarP(&o.pythonModules, "module", "m", nil, "import this `MODULE` of Python from the current directory, like operator.handlers (repeatable)")
	flags.IntVarP(&o.priority, "priority", "p", 0, "operators with a lower or an equal priority pause")
	o.replicas.addFlags(flags)
	flags.BoolVar(&o.dev, "dev", false, "set the priority 666, so that other operators pause, and load changed files of modules while running")
	flags.BoolVar(&o.once, "once", false, "handle all existing objects, then exit: with 0 if every handler has succeeded")
	o.recording.addFlags(flags)
	o.addDryRunFlags(cmd)
	o.registryOptions.addFlags(flags)
	o.addPullFlag(flags)
	flags.DurationVar(&o.follow, "follow", 0, "ask the registry every `TIME` whether the tags of modules have moved, and replace these modules")
	flags.Lookup("follow").NoOptDefVal = "1m"
	o.addVerifyFlag(flags)
	o.verificationOptions.addFlags(flags)
}

// addOperatorFlags adds the flags that kopf dev has, too.
func (o *runOptions) addOperatorFlags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.BoolVarP(&o.clusterwide, "all-namespaces", "A", false, "serve the whole cluster")
	flags.BoolVar(&o.standalone, "standalone", false, "do not look for other operators")
	flags.StringVarP(&o.peering, "peering", "P", "", "the `name` of the peering objects, which must exist: without them, the operator pauses")
	flags.StringVarP(&o.liveness, "liveness", "L", "", "serve the results of probes at this `URL`: http://0.0.0.0:8080/healthz")
	flags.StringVar(&o.listen, "listen", "", "serve /livez, /readyz and /metrics at this `ADDRESS`: 127.0.0.1:8080")
	o.traces.addFlag(flags)
	flags.StringVar(&o.guestOutput, "guest-output", outputStdout, "the `DESTINATION` of the standard output of modules: stdout, or log (as records like those of standard error)")
	flags.StringVar(&o.admission, "admission-server", "", "serve webhooks for the API server by this `SERVER`: a type, or JSON like {\"type\": \"server\", \"port\": 9443}")
	flags.StringVar(&o.managed, "admission-managed", "", "keep webhook configurations of this `NAME` in the cluster")
	flags.StringArrayVar(&o.limits, "limit", nil, "a limit of the host for its modules, or of the operator's requests, as in max-memory=64Mi: `NAME=VALUE` (repeatable)")
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	o.addSettingFlags(flags)
	o.grantOptions.addFlags(flags)
	o.logOptions.addFlags(flags)
	o.addStacksFlag(flags)
	o.clusterOptions.addFlags(flags)
}

// addPythonModules adds the files of -m to the modules.
func (o *runOptions) addPythonModules() error {
	for _, module := range o.pythonModules {
		path, err := operator.ModuleFile(module)
		if err != nil {
			return usageError{fmt.Errorf("-m %q: %w", module, err)}
		}
		o.modules = append(o.modules, path)
	}
	return nil
}

// run starts the operator and waits for its end.
func (o *runOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	o.silent = o.quiet
	log, err := o.logger(stderr)
	if err != nil {
		return err
	}
	options, err := o.operatorOptions(stdout, stderr, log)
	if err != nil {
		return err
	}
	exporter, farewell, err := o.traces.exporter(ctx, serviceName(o.modules), log)
	if err != nil {
		return err
	}
	defer farewell()
	if exporter != nil {
		options.Tracer = exporter
	}
	if o.admission != "" || options.Settings.Admission.Server != nil || slices.Contains(o.settings, "admission.server") {
		defer collector.Relax(ctx)()
	}
	defer guard(ctx, log)()
	return untilSignalled(ctx, log, func(ctx context.Context) error {
		switch {
		case o.develop != nil:
			return o.develop(ctx, options, log)
		case o.follow > 0:
			return o.runFollowing(ctx, options, stderr, log)
		case o.recording.path != "":
			return o.recording.record(ctx, options, o.secretNames())
		}
		return operator.Run(ctx, options)
	})
}

// operatorOptions checks the flags, and returns the options of the operator.
func (o *runOptions) operatorOptions(stdout, stderr io.Writer, log zerolog.Logger) (options operator.Options, err error) {
	config, err := o.guestConfig()
	if err != nil {
		return options, err
	}
	if err := o.addPythonModules(); err != nil {
		return options, err
	}
	if err := o.check(log); err != nil {
		return options, err
	}
	grants, err := o.grants()
	if err != nil {
		return options, err
	}
	login, err := o.login()
	if err != nil {
		return options, err
	}
	settings, err := operator.ReadSettings(o.settingsFiles, o.set)
	if err != nil {
		return options, usageError{fmt.Errorf("settings: %w", err)}
	}
	options = operator.Options{
		Open:            o.opener(&o.verificationOptions, stderr, log),
		Engine:          o.engine,
		Python:          o.python(func(text string) { log.Info().Str("logger", "kopf.packages").Msg(text) }),
		Namespaces:      o.namespaces,
		Peering:         o.peers(),
		Replicas:        o.replicas.wants,
		Liveness:        o.liveness,
		Listen:          o.listen,
		Once:            o.once,
		GrantWanted:     o.wanted,
		AllowServer:     o.server,
		AllowProxy:      o.proxy,
		Admission:       operator.Admission{Server: jsonOf(o.admission), Managed: o.managed},
		Settings:        settings,
		GrantedSettings: o.settings,
		Login:           login,
		Reload:          o.dev && !o.once,
		Host:            host.Options{Config: config, HostName: "kopf " + version(), FullStacks: o.fullStacks},
		Many:            collector.Bound,
		DryRun:          o.dryRunner(stdout, log),
		Log:             log,
		RefKey:          o.logRefKey,
	}
	if err := setLimits(options.SetLimit, operator.LimitNames(), o.limits); err != nil {
		return options, err
	}
	options.Calls.Grants = grants
	options.Python.Packages.MaxSize = options.Host.MaxFiles
	if options.Host.Stdout, err = o.guestStdout(stdout); err != nil {
		return options, err
	}
	if options.Program, err = o.program(); err != nil {
		return options, err
	}
	options.Modules = o.modules // without the native program
	return options, nil
}

func (o *runOptions) check(log zerolog.Logger) error {
	if len(o.modules) == 0 {
		return usageError{errors.New("no modules: name at least one file, like operator.wasm")}
	}
	for _, name := range o.modules {
		if oci.IsReference(name) {
			if _, err := parseReference(name); err != nil {
				return err
			}
		}
	}
	if o.develop == nil { // which checks the operator of its folder
		if err := o.checkPackages(o.modules...); err != nil {
			return err
		}
	}
	if o.listen != "" {
		if err := checkAddresses(o.listen); err != nil {
			return err
		}
	}
	if err := o.checkReplicas(); err != nil {
		return err
	}
	if err := o.checkPull(); err != nil {
		return err
	}
	if err := o.checkFollow(); err != nil {
		return err
	}
	if err := o.checkDryRun(log); err != nil {
		return err
	}
	if err := o.recording.check(o); err != nil {
		return err
	}
	if !slices.Contains(o.modules, native) { // which has an error of its own
		if err := o.checkSigners(); err != nil {
			return err
		}
	}
	return checkScope(o.clusterwide, o.namespaces, log)
}

// checkReplicas checks the flags of replicas, and the flags that do not go with them.
func (o *runOptions) checkReplicas() error {
	if err := o.replicas.check(o.flags); err != nil {
		return err
	}
	switch {
	case o.replicas.wants.Shared && (o.peering != "" || o.flags.Changed("priority") || o.dev):
		return usageError{errors.New("--replicas shared: leave out --peering, --priority and --dev: replicas that share the objects take part in no peering")}
	case o.replicas.mode != "" && o.once:
		return usageError{errors.New("either --replicas or --once can be used, not both: an operator that ends has no replicas")}
	}
	return nil
}

var errBothScopes = usageError{errors.New("either --namespace or --all-namespaces can be used, not both")}

// checkNamespaces refuses --namespace with an empty name, as of a variable of the shell that is not set: where namespaces cannot be
// listed, it would be the whole cluster.
func checkNamespaces(namespaces []string) error {
	if slices.ContainsFunc(namespaces, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		return usageError{errors.New("--namespace is empty: name a namespace, or leave the flag out")}
	}
	return nil
}

// checkScope requires either namespaces or the whole cluster.
func checkScope(clusterwide bool, namespaces []string, log zerolog.Logger) error {
	switch {
	case clusterwide && len(namespaces) > 0:
		return errBothScopes
	case !clusterwide && len(namespaces) == 0:
		log.Warn().Msg("Absence of either namespaces or cluster-wide flag will become an error soon. " +
			"For now, switching to the cluster-wide mode for backward compatibility.")
	}
	return checkNamespaces(namespaces)
}

// peers returns the peering options of the flags.
func (o *runOptions) peers() operator.Peering {
	p := operator.Peering{Name: o.peering}
	if o.flags.Changed("standalone") {
		p.Standalone = &o.standalone
	}
	if o.flags.Changed("priority") {
		p.Priority = &o.priority
	}
	if o.dev {
		p.Priority = new(devPriority)
	}
	return p
}

// errForced ends the process without waiting for the graceful exit, and kopf build at the first signal.
var errForced = errors.New("forced to exit by a signal")

// signalNames are the names of the stop signals in log messages.
var signalNames = map[os.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}

// untilSignalled runs the work. The first signal stops it gracefully, and the second one
// abandons it.
func untilSignalled(ctx context.Context, log zerolog.Logger, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, slices.Collect(maps.Keys(signalNames))...)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }() // Waited for below, unless a second signal comes.
	for {
		select {
		case err := <-done:
			return err
		case received := <-signals:
			if ctx.Err() != nil {
				return errForced
			}
			log.Info().Str("logger", "kopf.reactor").Msg(fmt.Sprintf("Signal %s is received. Operator is stopping.", signalNames[received]))
			stop()
		}
	}
}
