package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/kopf-wasm/kopf/test/cluster/internal/datadir"
	"github.com/kopf-wasm/kopf/test/cluster/internal/process"
)

// The API server's name as a command of this binary, and its log.
const (
	apiServerName = "kube-apiserver"
)

// listenerFD is the descriptor of the inherited socket in the child.
const listenerFD = 3

// apiServerArgs are the flags of the real kube-apiserver.
//
// See https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
func apiServerArgs(dir *datadir.Folder, audit bool) []string {
	args := []string{
		"--etcd-servers=unix:" + etcdSocket,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",   // the default looks for a network, which may be missing
		"--endpoint-reconciler-type=none", // no client reaches the server by its service
		"--tls-cert-file=" + dir.Path(datadir.CertFile),
		"--tls-private-key-file=" + dir.Path(datadir.KeyFile),
		"--token-auth-file=" + dir.Path(datadir.TokensFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + dir.Path(datadir.SAKeyFile),
		"--service-account-signing-key-file=" + dir.Path(datadir.SAKeyFile),
		"--service-cluster-ip-range=10.0.0.0/24",
		// Its pods would need their account to exist first: a race in every
		// fresh namespace, for tokens that no pod without a kubelet can use.
		"--disable-admission-plugins=ServiceAccount",
	}
	if audit {
		args = append(args,
			"--audit-policy-file="+dir.Path(datadir.AuditPolicyFile),
			"--audit-log-path="+dir.Path(datadir.AuditLogFile),
			"--audit-log-mode=blocking", // not in batches, which would come seconds later
			"--audit-log-maxsize=2000",
		)
	}
	return args
}

// newAPIServerCommand makes the hidden command that the parent starts itself
// with. Unlike the command of Kubernetes, it takes an open socket.
func newAPIServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:                apiServerName,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			process.AwaitParent()
			return serveAPI(genericapiserver.SetupSignalContext(), args)
		},
	}
}

func serveAPI(ctx context.Context, args []string) error {
	listener, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		return fmt.Errorf("inherited socket: %w", err)
	}
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet(apiServerName, pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.SecureServing.Listener = listener
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	if err := logsapi.ValidateAndApply(o.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	return app.Run(ctx, completed)
}
