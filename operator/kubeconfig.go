package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Kubeconfig logs in as kubectl does: with the current context of $KUBECONFIG or
// ~/.kube/config. It returns nil if neither exists.
//
// Kopf: kopf.login_with_kubeconfig (v1.45).
func Kubeconfig(context.Context) (*credentials.Info, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if _, err := os.Stat(clientcmd.RecommendedHomeFile); err != nil && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil, nil
	}
	return connect(rules, "")
}

// KubeconfigContext logs in with a context of $KUBECONFIG or ~/.kube/config that need not be the
// current one.
func KubeconfigContext(name string) Login {
	return func(context.Context) (*credentials.Info, error) {
		return connect(clientcmd.NewDefaultClientConfigLoadingRules(), name)
	}
}

// KubeconfigAt logs in with the current context of one file.
func KubeconfigAt(path string) Login {
	return func(context.Context) (*credentials.Info, error) {
		return connect(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, "")
	}
}

// connect uses the current context unless one is named.
func connect(rules *clientcmd.ClientConfigLoadingRules, named string) (*credentials.Info, error) {
	connection, err := load(rules, named)
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	return connection, nil
}

func load(rules *clientcmd.ClientConfigLoadingRules, named string) (*credentials.Info, error) {
	raw, err := read(rules)
	if err != nil {
		return nil, err
	}
	if err := settle(raw, named); err != nil {
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
	config.QPS = -1 // the limits of the operator apply instead
	return &credentials.Info{Config: config, DefaultNamespace: namespace, Priority: priorityOfKubeconfig}, nil
}

// settle makes the named context the current one, and checks that it is complete, and what it refers to.
func settle(raw *clientcmdapi.Config, named string) error {
	if err := choose(raw, named); err != nil {
		return err
	}
	if err := complete(raw); err != nil {
		return err
	}
	return checkFiles(raw)
}

// choose makes the named context the current one.
func choose(raw *clientcmdapi.Config, named string) error {
	if named == "" || clientcmdapi.IsConfigEmpty(raw) {
		return nil
	}
	if _, ok := raw.Contexts[named]; !ok {
		return fmt.Errorf("there is no context %.100q: it has %.1000s", named, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	raw.CurrentContext = named
	return nil
}

// complete reports what a kubeconfig lacks. Without this check, client-go returns a vague
// error or continues as an anonymous user.
func complete(raw *clientcmdapi.Config) error {
	if clientcmdapi.IsConfigEmpty(raw) {
		return errors.New("the file is missing or has no configuration of a cluster: set KUBECONFIG to a file that has one")
	}
	if raw.CurrentContext == "" {
		return errors.New("no current-context is set: run kubectl config use-context")
	}
	chosen, ok := raw.Contexts[raw.CurrentContext]
	if !ok {
		return fmt.Errorf("the current-context %.100q is not among its contexts: run kubectl config use-context", raw.CurrentContext)
	}
	if _, ok := raw.Clusters[chosen.Cluster]; !ok {
		return fmt.Errorf("the context %.100q refers to the cluster %.100q, which does not exist", raw.CurrentContext, chosen.Cluster)
	}
	if _, ok := raw.AuthInfos[chosen.AuthInfo]; !ok && chosen.AuthInfo != "" {
		return fmt.Errorf("the context %.100q refers to the user %.100q, which does not exist", raw.CurrentContext, chosen.AuthInfo)
	}
	return nil
}

// usable refuses credentials that would fail with every request. A token that an
// auth-provider left is used, as in Kopf.
func usable(config *rest.Config) error {
	if provider := config.AuthProvider; provider != nil {
		token := provider.Config["access-token"]
		if token == "" {
			return fmt.Errorf("the auth-provider %q has no access-token, and clients no longer run auth-providers: use an exec plugin", provider.Name)
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
		return fmt.Errorf("the credential plugin %q needs a terminal (interactiveMode: Always), but standard input is not a terminal", plugin.Command)
	}
	return nil
}
