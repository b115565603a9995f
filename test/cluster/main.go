// Devcluster is a Kubernetes control plane in one binary: the real
// kube-apiserver, etcd and kube-controller-manager, for tests and for trying
// things out. There is no kubelet: pods stay pending.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/test/cluster/internal/cli"
)

// gcPercent lets the heap grow to five times what lives. A cluster of tests lives for minutes, and starts often: a quarter of
// its computing was the collection of garbage, for 100 MB of memory.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "Run a Kubernetes control plane (API server, etcd, controllers) on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// The packages of Kubernetes register flags of their own for all commands.
	pflag.CommandLine.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(cli.NewRunCommand(runCluster), cli.NewEnvCommand(),
		newEtcdCommand(), newAPIServerCommand(), newControllersCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}
