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
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			if len(o.namespaces) == 0 && !o.clusterwide {
				o.namespaces = []string{"default"}
			}
			return o.developIn(cmd.Context(), args, throwAway, stdout, stderr)
		},
	}
	flags := cmd.Flags()
	o.addOperatorFlags(flags)
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "serve this `namespace`, or a pattern: prod-*,!prod-x (repeatable; default \"default\")")
	group(cmd, runGroups)
	flags.BoolVar(&throwAway, "cluster", false, "run on an empty cluster, which is removed at the end")
	return cmd
}

// developIn runs a session of development in a folder, on a cluster of its own if asked for.
func (o *runOptions) developIn(ctx context.Context, args []string, throwAway bool, stdout, stderr io.Writer) error {
	project, err := projectOf(args)
	if err != nil {
		return err
	}
	if throwAway && (o.kubeconfig != "" || o.context != "") {
		return usageError{errors.New("either --cluster can be used, or --kubeconfig and --context: not both")}
	}
	if err := o.checkPackages(project.Script); err != nil {
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
		session.Options.Login = operator.KubeconfigAt(cluster.Kubeconfig) // in a pod, its service account would come first
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
