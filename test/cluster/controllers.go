package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/kopf-wasm/kopf/test/cluster/internal/datadir"
	"github.com/kopf-wasm/kopf/test/cluster/internal/process"
)

// The controller-manager's name as a command of this binary, and its log.
const (
	controllersName = "kube-controller-manager"
)

// controllers are those whose work is seen without nodes: what users of a
// cluster rely on when they create and delete objects. The protection of
// volume claims is among them because its finalizer, which the API server
// adds, would keep namespaces from going away.
var controllers = []string{
	"namespace-controller",
	"garbage-collector-controller",
	"serviceaccount-controller",
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"daemonset-controller",
	"job-controller",
	"cronjob-controller",
	"ttl-after-finished-controller",
	"endpointslice-controller",
	"persistentvolumeclaim-protection-controller",
	"persistentvolume-protection-controller",
	"root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller",
}

// controllersArgs are the flags of the real kube-controller-manager.
//
// See https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
func controllersArgs(dir *datadir.Folder) []string {
	return []string{
		"--controllers=" + strings.Join(controllers, ","),
		"--kubeconfig=" + dir.Path(datadir.KubeconfigFile),
		"--root-ca-file=" + dir.Path(datadir.CACertFile),
		"--service-account-private-key-file=" + dir.Path(datadir.SAKeyFile),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", // the default of 20 makes tests wait
		"--kube-api-burst=1000",
	}
}

// newControllersCommand makes the hidden command that the parent starts itself
// with. It is a process of its own, because the API server and the
// controller-manager cannot both set up the logging of one process.
func newControllersCommand() *cobra.Command {
	return &cobra.Command{
		Use:                controllersName,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			process.AwaitParent()
			manager := app.NewControllerManagerCommand()
			manager.SetArgs(args)
			return manager.Execute()
		},
	}
}
