package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/cmd/kopf/internal/collector"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/folder"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
	"github.com/kopf-wasm/kopf/hosting/objects"
	"github.com/kopf-wasm/kopf/hosting/places"
	"github.com/kopf-wasm/kopf/hosting/replicas"
	"github.com/kopf-wasm/kopf/operator"
)

// serveOptions are the flags of `kopf serve`.
type serveOptions struct {
	dir          string
	namespaces   []string
	identity     string
	install      bool
	watchRoles   bool
	dryRun       bool
	unchecked    bool
	registries   []string
	privateHosts []string
	limits       []string
	settings     []string
	set          []string
	admission    string
	memory       sizeValue // 0: what is there
	replicas     replicaOptions
	listen       listenOptions
	traces       traceOptions
	scripted     scriptOptions
	clusterOptions
	logOptions
	registryOptions
	verificationOptions
}

func newServeCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve [DIRECTORY]",
		Short: "Run the operators that are declared in a cluster or in a directory",
		Long: `Serve runs one operator for each WasmOperator and ClusterWasmOperator of the cluster
of the current context of kubeconfig, or of the cluster that the command runs in. All
requests of an operator are made as the service account that its declaration names.

With a directory, the declarations are its manifests (*.yaml, *.yml, *.json), and
modules may be files of the directory. Changes of the directory take effect at once.

The first SIGINT or SIGTERM stops all operators gracefully, the second one by force.
Every flag can also be set by a variable: --log-format by KOPF_SERVE_LOG_FORMAT.`,
		Example: `  kopf serve --install | kubectl apply -f -
  kopf serve --watch-roles | kubectl apply -f -
  kopf serve
  kopf serve --namespace team-a --limit max-memory=64Mi
  kopf serve --replicas leader
  kopf serve --replicas shared
  kopf serve ./operators --listen 127.0.0.1:8080
  kopf serve ./operators --packages requirements.txt
  kopf serve ./operators --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			if err := o.setDirectory(args); err != nil {
				return err
			}
			if err := o.checkReplicas(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), stdout, stderr)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *serveOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "serve only the WasmOperators of this `namespace`, and no ClusterWasmOperators (repeatable)")
	flags.StringVar(&o.identity, "identity", string(identity.Token), "become the service accounts by this `MODE`: token, or impersonate")
	flags.BoolVar(&o.install, "install", false, "print the definitions, the policy and the roles that the cluster needs, and exit")
	flags.BoolVar(&o.watchRoles, "watch-roles", false, "print the roles that let the host share the watches of the operators that are declared in the cluster now, and exit")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check the manifests of the directory, and exit")
	flags.BoolVar(&o.unchecked, "allow-any-account", false, "serve a cluster without the policy that checks who may use a service account")
	flags.StringArrayVar(&o.registries, "allow-registry", nil, "ask only this `REGISTRY`, a name with an optional port (repeatable; default all with public names)")
	flags.StringArrayVar(&o.privateHosts, "allow-private-host", nil, "let declarations grant this `HOST` although its address is not public, as in mail.team.svc or *.team.svc:8080 (repeatable)")
	flags.StringArrayVar(&o.limits, "limit", nil, "a limit of each operator, and the maximum that declarations can set, as in max-memory=64Mi: `NAME=VALUE` (repeatable)")
	flags.Var(&o.memory, "memory", "the `SIZE` of what the process may use, as in 4Gi: operators share all but 1Gi of it, or half (default the limit of the container, or else all of the machine)")
	flags.StringArrayVar(&o.settings, "allow-setting", nil, "let declarations change this setting of the class grant: `NAME` (repeatable)")
	flags.StringArrayVar(&o.set, "set", nil, "a setting of each operator; some are maxima for declarations: `NAME=VALUE` (repeatable)")
	flags.StringVar(&o.admission, "admission-server", "", "serve admission handlers of all operators by this `SERVER`: a type, or JSON like {\"type\": \"server\", \"port\": 9443}; with --install, print the roles for it")
	o.replicas.addHostFlags(flags)
	o.listen.addFlags(flags)
	o.traces.addFlag(flags)
	o.scripted.addFlags(flags)
	o.clusterOptions.addFlags(flags)
	o.logOptions.addFlags(flags)
	o.addStacksFlag(flags)
	o.registryOptions.addFlags(flags)
	o.addVerifyFlag(flags)
	o.verificationOptions.addFlags(flags)
	completeFlag(cmd, "identity", string(identity.Token), string(identity.Impersonate))
}

// setDirectory checks how the arguments and the flags fit together.
func (o *serveOptions) setDirectory(args []string) error {
	switch {
	case len(args) > 1:
		return usageError{fmt.Errorf("unexpected argument %q: want one directory at most", args[1])}
	case o.dryRun && len(args) == 0:
		return usageError{errors.New("--dry-run checks a directory: name it")}
	case o.install && len(o.namespaces) > 0:
		return usageError{errors.New("--install prints roles for the whole cluster: leave out --namespace, which is for the host that serves")}
	case o.install && o.watchRoles:
		return usageError{errors.New("either --install or --watch-roles can be used, not both: each prints roles, and exits")}
	case len(args) == 1 && o.unchecked:
		return usageError{errors.New("--allow-any-account is about declarations of a cluster: either it can be used, or a directory")}
	case len(args) == 1 && o.watchRoles:
		return usageError{errors.New("--watch-roles is about declarations of a cluster: leave out the directory")}
	case len(args) == 1 && o.install:
		return usageError{errors.New("--install is about clusters: a directory needs no installation")}
	case len(args) == 1 && len(o.namespaces) > 0:
		return usageError{errors.New("--namespace selects declarations of a cluster: either --namespace can be used, or a directory")}
	case o.identity != string(identity.Token) && o.identity != string(identity.Impersonate):
		return usageError{fmt.Errorf("--identity %q: want %s, or %s", o.identity, identity.Token, identity.Impersonate)}
	}
	if err := o.checkNamespaces(); err != nil {
		return err
	}
	if err := o.listen.check(); err != nil {
		return err
	}
	if err := operator.CheckGrants(o.settings); err != nil {
		return usageError{fmt.Errorf("--allow-setting %w", err)}
	}
	if len(args) == 0 {
		return o.scripted.checkUnused()
	}
	if err := o.scripted.check(); err != nil {
		return err
	}
	o.dir = args[0]
	info, err := os.Stat(o.dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory: to run a module, use kopf run", o.dir)
	}
	return err
}

// checkNamespaces refuses patterns, which kopf run knows: the API server answers them as namespaces without declarations.
func (o *serveOptions) checkNamespaces() error {
	for _, namespace := range o.namespaces {
		if strings.ContainsAny(namespace, "*?![, ") {
			return usageError{fmt.Errorf("--namespace %q: want the name of a namespace; patterns are for kopf run", namespace)}
		}
	}
	return checkNamespaces(o.namespaces)
}

// source is where declarations come from, and where their status is reported.
type source interface {
	Run(ctx context.Context, to hosting.Sink) error
	Report(key hosting.Key, status *api.Status)
}

// base returns what all operators have in common.
func (o *serveOptions) base() (base operator.Options, err error) {
	base = operator.Options{Many: collector.Bound, Host: host.Options{HostName: "kopf " + version(), FullStacks: o.fullStacks}}
	for _, text := range o.privateHosts {
		private, err := operator.ParseHost(text)
		if err != nil {
			return base, usageError{fmt.Errorf("--allow-private-host %w", err)}
		}
		base.Calls.Private = append(base.Calls.Private, private)
	}
	if err := setLimits(base.SetLimit, operator.LimitNames(), o.limits); err != nil {
		return base, err
	}
	if base.Settings, err = operator.ReadSettings(nil, o.set); err != nil {
		return base, usageError{fmt.Errorf("settings: %w", err)}
	}
	return base, nil
}

// sizeValue is the value of a flag, in bytes.
type sizeValue int64

func (*sizeValue) Type() string { return "SIZE" }

func (v *sizeValue) String() string {
	if *v == 0 {
		return ""
	}
	return host.SizeText(int(*v))
}

// Set reads a size.
func (v *sizeValue) Set(text string) error {
	size, err := host.ParseSize(text)
	*v = sizeValue(size)
	return err
}

// available is the memory that the process may use, in bytes; 0 if it is unknown.
func (o *serveOptions) available() int64 {
	if o.memory > 0 {
		return int64(o.memory)
	}
	machine, err := memlimit.FromSystem()
	if err != nil {
		machine = 0
	}
	container, err := memlimit.FromCgroup()
	if err != nil || machine > 0 && machine < container { // without a limit, and on other systems than Linux
		container = machine
	}
	return int64(min(container, math.MaxInt64))
}

// run serves until a signal comes.
func (o *serveOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if o.install || o.watchRoles || o.dryRun {
		return o.print(ctx, stdout)
	}
	o.silent = o.quiet
	output, level, err := o.writer(stderr)
	if err != nil {
		return err
	}
	log := zerolog.New(output).Level(level)
	base, err := o.base()
	if err != nil {
		return err
	}
	if err := o.checkSigners(); err != nil {
		return err
	}
	exporter, farewell, err := o.traces.exporter(ctx, "kopf serve", log)
	if err != nil {
		return err
	}
	defer farewell()
	o.scripted.apply(&base, log)
	config, namespace, err := o.ownConfig(ctx)
	if err != nil {
		return err
	}
	replica, err := o.replica(ctx, config, namespace)
	if err != nil {
		return err
	}
	if replica != nil {
		log = replica.Log(log)
	}
	identities, err := identity.New(config, identity.Mode(o.identity))
	if err != nil {
		return err
	}
	from, err := o.source(ctx, config, log)
	if err != nil {
		return err
	}
	modules := newFetcher(o.registryOptions, &o.verificationOptions, o.registries)
	if base.Watches, err = operator.ShareWatches(ctx, operator.WatchesOptions{Log: log}); err != nil {
		return err
	}
	admission, err := o.gateway(config, log)
	if err != nil {
		return err
	}
	namespaces, err := places.New(config, log)
	if err != nil {
		return err
	}
	options := hosting.Options{
		Places: namespaces, Name: replicas.NewName(ctx), Memory: o.available(),
		Fetch: modules.fetch, Identities: identities, Base: base, GrantedSettings: o.settings, Report: from.Report, Log: log, Output: output,
	}
	if admission != nil {
		options.Gateway = admission
	}
	if declared, ok := from.(*objects.Source); ok {
		options.Hold = declared.Hold
	}
	if exporter != nil {
		options.Tracer = exporter.Operator
	}
	if replica != nil {
		options.Replica = replica
	}
	serving := hosting.New(options)
	stopListening, err := o.listen.serve(ctx, serving, config, log)
	if err != nil {
		return err
	}
	defer stopListening()
	defer guard(ctx, log)()
	return untilSignalled(ctx, log, func(ctx context.Context) error {
		return admitting(ctx, admission, func(ctx context.Context) error { return serveFrom(ctx, serving, from, namespaces) })
	})
}

// print does what needs no serving.
func (o *serveOptions) print(ctx context.Context, stdout io.Writer) error {
	switch {
	case o.install:
		text, err := o.manifests()
		if err == nil {
			_, err = io.WriteString(stdout, text)
		}
		return err
	case o.watchRoles:
		return o.printWatchRoles(ctx, stdout)
	}
	return o.check(stdout)
}

// printWatchRoles prints the roles for what the declared operators watch now.
func (o *serveOptions) printWatchRoles(ctx context.Context, stdout io.Writer) error {
	config, _, err := o.ownConfig(ctx)
	if err != nil {
		return err
	}
	watches, err := objects.Watches(ctx, objects.Options{Config: config, Namespaces: o.namespaces})
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, installation.WatchRoles(watches))
	return err
}

// serveFrom runs the host and its source. If the source fails, the host stops.
func serveFrom(ctx context.Context, serving *hosting.Host, from source, namespaces *places.Places) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var failure error
	var all sync.WaitGroup // Waited for below.
	all.Go(func() {
		defer stop()
		failure = from.Run(working, serving)
	})
	all.Go(func() { namespaces.Run(working) })
	err := serving.Run(working)
	stop() // the host may have ended by itself
	all.Wait()
	return errors.Join(failure, err)
}

// check checks the flags about all operators, and the directory.
func (o *serveOptions) check(stdout io.Writer) error {
	base, err := o.base()
	if err != nil {
		return err
	}
	if err := o.checkSigners(); err != nil {
		return err
	}
	declared, err := folder.Read(o.dir)
	if err != nil {
		return err
	}
	modules := newFetcher(o.registryOptions, &o.verificationOptions, o.registries)
	var wrong []error
	if len(declared) == 0 {
		fmt.Fprintf(stdout, "%s: no operators are declared: put manifests (*.yaml, *.yml, *.json) of WasmOperators into it\n", cell(o.dir))
	}
	for _, d := range declared {
		if err := errors.Join(hosting.Check(hosting.Options{Memory: o.available(), Base: base, GrantedSettings: o.settings}, &d), modules.check(&d)); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", d.Key, err))
			continue
		}
		fmt.Fprintf(stdout, "%s: %s as %s\n", d.Key, d.Spec.Module, d.Account())
	}
	return errors.Join(wrong...)
}

// source creates the source, and checks that the cluster is prepared.
func (o *serveOptions) source(ctx context.Context, config *rest.Config, log zerolog.Logger) (source, error) {
	if o.dir != "" {
		return folder.New(o.dir, log), nil
	}
	s, err := objects.New(objects.Options{Config: config, Namespaces: o.namespaces, Replica: o.replicas.mode != "", Log: log})
	if err == nil {
		err = s.Check(ctx, !o.unchecked)
	}
	return s, err
}

// ownConfig returns the credentials of the host: those of the flags, of its pod, or of a kubeconfig. The namespace is that of the pod
// or of the context.
func (o *serveOptions) ownConfig(ctx context.Context) (config *rest.Config, namespace string, err error) {
	logins := []operator.Login{operator.ServiceAccount, operator.Kubeconfig}
	if chosen, err := o.login(); err != nil {
		return nil, "", err
	} else if chosen != nil {
		logins = []operator.Login{chosen}
	}
	config, namespace, err = firstConfig(ctx, logins...)
	if err == nil && config == nil {
		err = errors.New("no credentials: run inside a cluster, or set KUBECONFIG to a file with a current context")
	}
	return config, namespace, err
}

// firstConfig returns the credentials of the first login that has some, and their namespace; nil without any.
func firstConfig(ctx context.Context, logins ...operator.Login) (config *rest.Config, namespace string, err error) {
	for _, login := range logins {
		info, err := login(ctx)
		if err != nil {
			return nil, "", err
		}
		if info != nil {
			return info.Config, info.DefaultNamespace, nil
		}
	}
	return nil, "", nil
}
