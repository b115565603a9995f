package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// ErrLogins says that a guest has login handlers, which Options.NoLogins refuses.
var ErrLogins = errors.New("it has login handlers, but its credentials are given: remove the handlers, or run it by itself with kopf run")

// refuseLogins refuses guests with login handlers.
func refuseLogins(all []guests.Guest) error {
	for _, guest := range all {
		for _, h := range guest.Registration().Handlers {
			if h.Kind == abi.KindLogin {
				return fmt.Errorf("%s: %w", guest.Name(), ErrLogins)
			}
		}
	}
	return nil
}

// Priorities of the host's own logins. Inside a cluster, the service account comes first.
//
// Kopf: kopf._core.intents.piggybacking (v1.45).
const (
	priorityOfKubeconfig     = 10
	priorityOfServiceAccount = 20
)

// serviceAccount is the directory in which Kubernetes mounts the service account of a pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// Logins are the ways in which a host logs in before its guests do: the given one; or, if it is nil, those of Run without
// Options.Login: with a kubeconfig, and as the service account of a pod.
func Logins(own Login) []credentials.HostLogin {
	if own != nil {
		return []credentials.HostLogin{{Name: "host", Get: own}}
	}
	return []credentials.HostLogin{
		{Name: "kubeconfig", Where: "$KUBECONFIG or ~/.kube/config", Get: Kubeconfig},
		{Name: "service_account", Where: "the service account of a pod", Get: ServiceAccount},
	}
}

// Login returns credentials; nil if there are none.
type Login = func(ctx context.Context) (*credentials.Info, error)

// ServiceAccount logs in with the service account of the pod, and follows the rotation of
// its token. It returns nil outside a cluster.
//
// Kopf: kopf.login_with_service_account (v1.45).
func ServiceAccount(ctx context.Context) (*credentials.Info, error) {
	return ServiceAccountAt(serviceAccount)(ctx)
}

// ServiceAccountAt logs in with the files token, ca.crt and namespace of a directory, at the
// server of $KUBERNETES_SERVICE_HOST and $KUBERNETES_SERVICE_PORT. It returns nil if a
// variable or the token is missing. It reads the token again when the token is old or was
// refused.
func ServiceAccountAt(dir string) Login {
	return func(context.Context) (*credentials.Info, error) {
		host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
		tokenFile, authorities := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
		token, err := os.ReadFile(tokenFile)
		if errors.Is(err, os.ErrNotExist) || host == "" || port == "" {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		config := &rest.Config{
			Host: "https://" + net.JoinHostPort(host, port), QPS: -1, // the limits of the operator apply instead
			BearerToken: string(bytes.TrimSpace(token)), BearerTokenFile: tokenFile,
		}
		if _, err := cert.NewPool(authorities); err == nil {
			config.CAFile = authorities
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		return &credentials.Info{Config: config, DefaultNamespace: strings.TrimSpace(string(namespace)), Priority: priorityOfServiceAccount}, nil
	}
}
