package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/clusters"
	"github.com/kopf-wasm/kopf/operator/development"
)

func newDevCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &runOptions{dev: true}
	var throwAway bool
	cmd := &cobra.Command{
		Use:   "dev [FOLDER|OPERATOR.js|OPERATOR.py]",
		Short: "Run an operator, and build it again at each save",
		Long: `Dev builds the operator of the current folder, or of another one, as kopf build does, and runs
it on the cluster of the current context, as kopf run --dev does. Whenever a file of the folder
changes, it builds the operator again and replaces the running one. If the new one cannot be
built or loaded, the running one continues.

It serves the namespace "default" unless --namespace or --all-namespaces is used. Every flag also
has an environment variable: KOPF_DEV_NAMESPACE sets --namespace.

With --cluster, it runs an empty throw-away cluster, with the resource definitions among the files
*.yaml of the folder. This needs the program devcluster: "make devcluster" in a clone of kopf.`,
		Example: `  kopf dev
  kopf dev memberships -n team
  kopf dev --cluster
  kopf dev operator.py --allow-wanted`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			if len(o.namespaces) == 0 && !o.clusterwide {
				o.namespaces = []string{"default"}
			}
			return o.developIn(contextOf(cmd), args, throwAway, stdout, stderr)
		},
	}
	o.addDevFlags(cmd)
	group(cmd, runGroups)
	cmd.Flags().BoolVar(&throwAway, "cluster", false, "run on an empty cluster, which is removed at the end")
	return cmd
}

// addDevFlags adds the flags of kopf run that matter in development.
func (o *runOptions) addDevFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.flags = flags
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "serve this `namespace`, or a pattern: prod-*,!prod-x (repeatable; default \"default\")")
	flags.BoolVarP(&o.clusterwide, "all-namespaces", "A", false, "serve the whole cluster")
	flags.BoolVar(&o.standalone, "standalone", false, "do not look for other operators")
	flags.StringVarP(&o.peering, "peering", "P", "", "the `name` of the peering objects, which must exist: without them, the operator pauses")
	flags.StringVarP(&o.liveness, "liveness", "L", "", "serve the results of probes at this `URL`: http://0.0.0.0:8080/healthz")
	flags.StringVar(&o.listen, "listen", "", "serve /livez, /readyz and /metrics at this `ADDRESS`: 127.0.0.1:8080")
	flags.StringVar(&o.guestOutput, "guest-output", outputStdout, "the `DESTINATION` of the standard output of modules: stdout, or log (as records like those of standard error)")
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	flags.StringArrayVar(&o.settingsFiles, "settings", nil, "settings from a YAML or JSON `FILE` (repeatable)")
	flags.StringArrayVar(&o.set, "set", nil, "a setting, which overrides files: `NAME=VALUE` (repeatable)")
	flags.StringArrayVar(&o.limits, "limit", nil, "a limit of the host for its modules, or of the operator's requests, as in max-memory=64Mi: `NAME=VALUE` (repeatable)")
	o.grantOptions.addFlags(flags)
	flags.StringVar(&o.admission, "admission-server", "", "serve webhooks for the API server by this `SERVER`: a type, or JSON like {\"type\": \"server\", \"port\": 9443}")
	flags.StringVar(&o.managed, "admission-managed", "", "keep webhook configurations of this `NAME` in the cluster")
	o.logOptions.addFlags(flags)
	o.clusterOptions.addFlags(flags)
}

// developIn runs a session of development in a folder, on a cluster of its own if asked for.
func (o *runOptions) developIn(ctx context.Context, args []string, throwAway bool, stdout, stderr io.Writer) error {
	project, err := projectOf(args)
	if err != nil {
		return err
	}
	o.modules = []string{project.Name()} // the session finds its file
	o.develop = func(ctx context.Context, options operator.Options, log zerolog.Logger) error {
		session := development.Session{Project: project, Options: options, Messages: stderr, Log: log}
		if !throwAway {
			return session.Run(ctx)
		}
		cluster, err := startCluster(ctx, project.Folder, stderr)
		switch {
		case ctx.Err() != nil && cluster == nil: // stopped before it was started
			return nil
		case err != nil:
			return err
		}
		return errors.Join(session.Run(ctx), cluster.Stop())
	}
	return o.run(ctx, stdout, stderr)
}

// startCluster starts a throw-away cluster with the definitions of a folder, for this process.
func startCluster(ctx context.Context, folder string, stderr io.Writer) (*clusters.Cluster, error) {
	fmt.Fprintln(stderr, "Starting a throw-away cluster.")
	cluster, err := clusters.Start(ctx, stderr)
	if err != nil {
		return nil, err
	}
	names, err := cluster.Define(ctx, folder)
	if err == nil {
		err = os.Setenv("KUBECONFIG", cluster.Kubeconfig)
	}
	if err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	if len(names) > 0 {
		fmt.Fprintf(stderr, "It has the definitions of %s.\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(stderr, "In another terminal:\n\n    export KUBECONFIG='%s'\n\n", cluster.Kubeconfig)
	return cluster, nil
}
