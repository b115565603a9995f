package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator"
)

// clusterOptions are the flags that choose a cluster, as those of kubectl do.
type clusterOptions struct {
	kubeconfig string
	context    string
}

func (o *clusterOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig `file` (default the service account of a pod, or else $KUBECONFIG, or ~/.kube/config)")
	flags.StringVar(&o.context, "context", "", "the `name` of a context in the kubeconfig (default its current context)")
}

// login returns the login with the chosen context; nil: that of the current context, or of a pod.
// The kubeconfig holds for this process, and for what it starts.
func (o *clusterOptions) login() (operator.Login, error) {
	if o.kubeconfig != "" {
		if _, err := os.Stat(o.kubeconfig); err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		if err := os.Setenv("KUBECONFIG", o.kubeconfig); err != nil {
			return nil, err
		}
	}
	if o.context != "" || o.kubeconfig != "" {
		return operator.KubeconfigContext(o.context), nil
	}
	return nil, nil
}
