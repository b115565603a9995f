package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-wasm/kopf/reactor"
)

// Priorities of the host's own logins: inside of a cluster, its service account
// is preferred.
//
// Kopf: kopf._core.intents.piggybacking (v1.45).
const (
	priorityOfKubeconfig     = 10
	priorityOfServiceAccount = 20
)

// namespaceFile has the namespace of the pod that a process runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// logins are the host's own ways to log in: that of an embedder, or the usual ones.
func logins(own func(context.Context) (*reactor.Connection, error)) []reactor.Login {
	if own != nil {
		return []reactor.Login{{Name: "host", Get: own}}
	}
	return []reactor.Login{{Name: "kubeconfig", Get: Kubeconfig}, {Name: "service_account", Get: ServiceAccount}}
}

// Kubeconfig logs in as kubectl does: by $KUBECONFIG or ~/.kube/config, with the
// current context. It returns nil if there is neither.
//
// Kopf: kopf.login_with_kubeconfig (v1.45).
func Kubeconfig(context.Context) (*reactor.Connection, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err != nil && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil, nil
	}
	return connect(rules)
}

// KubeconfigAt logs in with the current context of one file.
func KubeconfigAt(path string) func(context.Context) (*reactor.Connection, error) {
	return func(context.Context) (*reactor.Connection, error) {
		return connect(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path})
	}
}

func connect(rules *clientcmd.ClientConfigLoadingRules) (*reactor.Connection, error) {
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	loader := clientcmd.NewNonInteractiveClientConfig(*raw, "", &clientcmd.ConfigOverrides{}, rules)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	config.QPS = -1 // our own limits hold
	return &reactor.Connection{Config: config, DefaultNamespace: namespace, Priority: priorityOfKubeconfig}, nil
}

// ServiceAccount logs in with the service account of the pod, whose token may be
// rotated. It returns nil outside of a cluster.
//
// Kopf: kopf.login_with_service_account (v1.45).
func ServiceAccount(context.Context) (*reactor.Connection, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster), errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	config.QPS = -1 // our own limits hold
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	return &reactor.Connection{
		Config: config, DefaultNamespace: strings.TrimSpace(string(namespace)), Priority: priorityOfServiceAccount,
	}, nil
}
