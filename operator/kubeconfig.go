package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Kubeconfig logs in as kubectl does: by $KUBECONFIG or ~/.kube/config, with the
// current context. It returns nil if there is neither.
//
// Kopf: kopf.login_with_kubeconfig (v1.45).
func Kubeconfig(context.Context) (*credentials.Info, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err != nil && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil, nil
	}
	return connect(rules)
}

// KubeconfigAt logs in with the current context of one file.
func KubeconfigAt(path string) func(context.Context) (*credentials.Info, error) {
	return func(context.Context) (*credentials.Info, error) {
		return connect(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path})
	}
}

func connect(rules *clientcmd.ClientConfigLoadingRules) (*credentials.Info, error) {
	connection, err := load(rules)
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	return connection, nil
}

func load(rules *clientcmd.ClientConfigLoadingRules) (*credentials.Info, error) {
	raw, err := rules.Load()
	if err != nil {
		return nil, err
	}
	if err := complete(raw); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", strings.Join(rules.GetLoadingPrecedence(), ", "), err)
	}
	loader := clientcmd.NewNonInteractiveClientConfig(*raw, "", &clientcmd.ConfigOverrides{}, rules)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, err
	}
	if err := usable(config); err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // our own limits hold
	return &credentials.Info{Config: config, DefaultNamespace: namespace, Priority: priorityOfKubeconfig}, nil
}

// complete tells what is missing: client-go says that nothing was provided, or goes on
// as nobody.
func complete(raw *clientcmdapi.Config) error {
	if clientcmdapi.IsConfigEmpty(raw) {
		return errors.New("there is no configuration of a cluster in it, or no such file: set KUBECONFIG to the file that has one")
	}
	if raw.CurrentContext == "" {
		return errors.New("there is no current-context")
	}
	chosen, ok := raw.Contexts[raw.CurrentContext]
	if !ok {
		return fmt.Errorf("the current-context %q is none of its contexts", raw.CurrentContext)
	}
	if _, ok := raw.Clusters[chosen.Cluster]; !ok {
		return fmt.Errorf("the context %q is for the cluster %q, which is not there", raw.CurrentContext, chosen.Cluster)
	}
	if _, ok := raw.AuthInfos[chosen.AuthInfo]; !ok && chosen.AuthInfo != "" {
		return fmt.Errorf("the context %q is for the user %q, who is not there", raw.CurrentContext, chosen.AuthInfo)
	}
	return nil
}

// usable tells of credentials that would fail with each request. A token that a provider
// has left is used, as in the reference.
func usable(config *rest.Config) error {
	if provider := config.AuthProvider; provider != nil {
		token := provider.Config["access-token"]
		if token == "" {
			return fmt.Errorf("the auth-provider %q has left no access-token, and providers are part of no client any more: use an exec plugin", provider.Name)
		}
		config.AuthProvider, config.BearerToken = nil, token
	}
	plugin := config.ExecProvider
	if plugin == nil {
		return nil
	}
	if _, err := exec.LookPath(plugin.Command); err != nil {
		if plugin.InstallHint != "" {
			return fmt.Errorf("the credential plugin: %w: %s", err, plugin.InstallHint)
		}
		return fmt.Errorf("the credential plugin: %w", err)
	}
	if plugin.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode && !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("the credential plugin %q wants to talk to somebody (interactiveMode: Always), but the standard input is no terminal", plugin.Command)
	}
	return nil
}
